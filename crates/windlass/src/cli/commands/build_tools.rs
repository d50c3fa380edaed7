//! The build tools of a folder, and the steps that fit them.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// A build tool that the folder uses.
pub(super) struct BuildTool {
    /// Its name.
    pub(super) name: &'static str,
    steps: Vec<BuildToolStep>,
}

struct BuildToolStep {
    name: &'static str,
    needs: Option<&'static str>,
    run: String,
    /// The comment above each step that needs one.
    why: &'static str,
}

impl BuildTool {
    fn new(name: &'static str) -> Self {
        Self { name, steps: Vec::new() }
    }

    fn step(
        mut self,
        name: &'static str,
        needs: Option<&'static str>,
        run: impl Into<String>,
        why: &'static str,
    ) -> Self {
        self.steps.push(BuildToolStep { name, needs, run: run.into(), why });
        self
    }

    /// The steps as YAML. With other tools beside it, their names begin with this one's.
    pub(super) fn steps(&self, prefixed: bool) -> String {
        let named = |name: &str| {
            if prefixed { format!("{}-{name}", self.name.to_lowercase()) } else { name.to_owned() }
        };
        let written = self.steps.iter().map(|step| {
            let needs = step.needs.filter(|need| self.steps.iter().any(|step| step.name == *need));
            let needs = needs.map(|need| format!("    needs: {}\n", named(need)));
            let (why, run) = (step.why, &step.run);
            let why = if why.is_empty() { String::new() } else { format!("  # {why}\n") };
            format!("{why}  {}:\n{}    run: {run}\n", named(step.name), needs.unwrap_or_default())
        });
        written.collect::<Vec<_>>().join("\n")
    }
}

/// Detects every build tool of a folder.
pub(super) fn kits(folder: &Path) -> Vec<BuildTool> {
    [cargo, npm, go, python, make].iter().filter_map(|kit| kit(folder)).collect()
}

fn cargo(folder: &Path) -> Option<BuildTool> {
    folder.join("Cargo.toml").is_file().then(|| {
        BuildTool::new("Cargo")
            .step(
                "fmt",
                None,
                "cargo fmt --all --check",
                "These do not depend on each other and share one target folder.",
            )
            .step("lint", None, "cargo clippy --workspace --all-targets -- -D warnings", "")
            .step("test", None, "cargo test --workspace", "")
            .step(
                "build",
                Some("test"),
                "cargo build --release",
                "Last, and only if the tests pass.",
            )
    })
}

/// The scripts of `package.json`, for the package manager of its lock file.
fn npm(folder: &Path) -> Option<BuildTool> {
    let text = fs::read_to_string(folder.join("package.json")).ok()?;
    let package: Value = serde_json::from_str(&text).unwrap_or_default();
    let has = |script: &str| package["scripts"][script].is_string();
    let lock = |file: &str| folder.join(file).is_file();
    let (tool, install) = match () {
        () if lock("pnpm-lock.yaml") => ("pnpm", "pnpm install --frozen-lockfile"),
        () if lock("yarn.lock") => ("yarn", "yarn install --frozen-lockfile"),
        () if lock("package-lock.json") => ("npm", "npm ci"),
        () => ("npm", "npm install"),
    };
    let mut kit =
        BuildTool::new("npm").step("install", None, install, "All other steps need the packages.");
    for script in ["lint", "test", "build"].into_iter().filter(|script| has(script)) {
        kit = kit.step(script, Some("install"), format!("{tool} run {script}"), "");
    }
    Some(kit)
}

fn go(folder: &Path) -> Option<BuildTool> {
    folder.join("go.mod").is_file().then(|| {
        BuildTool::new("Go")
            .step("vet", None, "go vet ./...", "Vet and test do not depend on each other.")
            .step("test", None, "go test ./...", "")
            .step("build", Some("test"), "go build ./...", "Only if the tests pass.")
    })
}

fn python(folder: &Path) -> Option<BuildTool> {
    let has = |file: &str| folder.join(file).is_file();
    let project = ["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"];
    project.iter().any(|file| has(file)).then(|| {
        let pytest = has("pytest.ini") || folder.join("tests").is_dir();
        let what = if has("requirements.txt") { "-r requirements.txt" } else { "-e ." };
        let beside = if pytest { " pytest" } else { "" };
        let install = format!(".venv/bin/pip install {what}{beside}");
        let kit = BuildTool::new("Python")
            .step(
                "venv",
                None,
                "python3 -m venv .venv",
                "A virtual environment; creating it again changes nothing.",
            )
            .step("install", Some("venv"), install, "");
        match () {
            () if pytest => kit.step("test", Some("install"), ".venv/bin/python -m pytest", ""),
            () if has_unit_tests(folder) => {
                kit.step("test", Some("install"), ".venv/bin/python -m unittest", "")
            }
            // Without tests, both would fail.
            () => kit,
        }
    })
}

/// Whether `unittest` finds tests beside the project file.
fn has_unit_tests(folder: &Path) -> bool {
    let mut paths = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let named = |path: &Path| path.file_stem()?.to_str().map(|stem| stem.starts_with("test"));
    paths.any(|path| path.extension().is_some_and(|of| of == "py") && named(&path) == Some(true))
}

/// The usual targets of the Makefile.
fn make(folder: &Path) -> Option<BuildTool> {
    let files = ["Makefile", "makefile", "GNUmakefile"];
    let text = files.iter().find_map(|file| fs::read_to_string(folder.join(file)).ok())?;
    let has = |target: &str| text.lines().any(|line| line.starts_with(&format!("{target}:")));
    let mut kit = BuildTool::new("Make");
    let why = "make skips targets that are up to date; windlass runs them in parallel.";
    for target in ["lint", "build", "test"].into_iter().filter(|target| has(target)) {
        let why = if kit.steps.is_empty() { why } else { "" };
        let needs = (target == "test").then_some("build");
        kit = kit.step(target, needs, format!("make {target}"), why);
    }
    if kit.steps.is_empty() {
        kit = kit.step("build", None, "make", why);
    }
    Some(kit)
}
