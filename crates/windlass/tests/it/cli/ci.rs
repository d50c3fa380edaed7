//! `ci`: what it prints is what the services accept, and what docs/guides/ci.md shows is short and true.
//!
//! The judge is `check-jsonschema` with the schemas of the services that it brings along, from `PyPI` into a virtualenv
//! beside what tests leave.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::project_folder::{ProjectFolder, repository};

/// The pinned version of the checker: a changed schema is reviewed, and never adopted by accident.
const JUDGE: &str = "check-jsonschema==0.39.0";

const GITHUB: &str = "vendor.github-workflows";
const GITLAB: &str = "vendor.gitlab-ci";

/// The lines that make a workflow distributed; the maximum is exclusive.
const LINES_MAX: usize = 20;

#[test]
fn printed_configuration_is_valid_for_each_service() {
    let Some(judge) = judge() else { return };
    let folder = ProjectFolder::empty();
    for (service, schema) in [("github", GITHUB), ("gitlab", GITLAB)] {
        for rest in ["--instances 2", "--instances 200 deploy/ship.yml"] {
            let text = folder.data(&format!("ci {service} {rest}"));
            assert_eq!(accepted(&judge, schema, &text), Ok(()), "{text}");
        }
    }
    let page = fs::read_to_string(repository().join("docs/guides/ci.md")).unwrap();
    for (schema, text) in [(GITHUB, shown(&page, "github")), (GITLAB, shown(&page, "gitlab"))] {
        assert_eq!(accepted(&judge, schema, &text), Ok(()), "{text}");
    }
    let broken = folder.data("ci github --instances 2").replace("runs-on", "runs-at");
    assert!(accepted(&judge, GITHUB, &broken).is_err(), "it judges nothing");
}

#[test]
fn the_documented_change_has_fewer_than_twenty_lines() {
    let page = fs::read_to_string(repository().join("docs/guides/ci.md")).unwrap();
    let changed = |text: &str| {
        let marked = text.lines().filter(|line| line.starts_with(['+', '-'])).count();
        assert!(marked > 0, "the page shows no change");
        marked
    };
    for service in ["github", "gitlab"] {
        let lines = changed(&marked(&page, service));
        assert!(lines < LINES_MAX, "{service}: {lines} lines");
    }
}

/// The page names every setting, and no other.
#[test]
fn the_page_names_every_flag_and_its_variable() {
    let page = fs::read_to_string(repository().join("docs/guides/ci.md")).unwrap();
    let help = ProjectFolder::empty().data("run --help");
    let flags =
        ["instance", "total", "link", "run-id", "min-workers", "leader-grace", "link-grace"];
    for flag in flags {
        assert!(help.contains(&format!("--{flag} ")), "{flag}");
        let variable = format!("WINDLASS_{}", flag.to_uppercase().replace('-', "_"));
        assert!(page.contains(&format!("| `--{flag}` | `{variable}` |")), "{flag}");
    }
}

#[test]
fn ci_accepts_a_file_and_a_valid_number_of_instances() {
    let folder = ProjectFolder::empty();
    assert!(folder.data("ci github --instances 3 ship.yml").contains("windlass run ship.yml"));
    assert!(folder.data("ci github --instances 3").contains("instance: [0, 1, 2]"));
    for wrong in ["ci github --instances 1", "ci github --instances 201", "ci jenkins", "ci gitlab"]
    {
        assert_eq!(folder.run(wrong).code, Some(2), "{wrong}");
    }
}

/// Whether it comes from a repository or from crates.io: in a shell the line becomes one or the other.
#[test]
fn windlass_is_installed_from_the_source_in_the_variable() {
    let folder = ProjectFolder::empty();
    for service in ["github", "gitlab"] {
        let text = folder.data(&format!("ci {service} --instances 2"));
        let line = text.lines().find(|line| line.contains("cargo install")).expect("it installs");
        let (_, command) = line.split_once("cargo").expect("found just now");
        let becomes = |from: &str| {
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("printf '<%s>' {command}")]).env("WINDLASS_GIT", from);
            String::from_utf8(shell.output().expect("there is a shell").stdout).expect("text")
        };
        assert_eq!(becomes(""), "<install><--locked><windlass>");
        let from = "https://git.example/a b";
        assert_eq!(becomes(from), format!("<install><--locked><--git><{from}><windlass>"));
    }
}

/// The file of a service that the page shows, as it becomes: without what goes, with what comes. The first column is the
/// diff's own.
fn shown(page: &str, service: &str) -> String {
    let marked = marked(page, service);
    let kept = marked.lines().filter(|line| !line.starts_with('-'));
    let lines: Vec<&str> = kept.map(|line| line.get(1..).unwrap_or_default()).collect();
    lines.join("\n")
}

/// The diff of a service's file.
fn marked(page: &str, service: &str) -> String {
    let head = format!("<!-- {service} -->\n\n```diff\n");
    let (_, behind) = page.split_once(&head).expect("the page shows it");
    behind.split_once("```").expect("it ends").0.to_owned()
}

fn accepted(judge: &Path, schema: &str, text: &str) -> Result<(), String> {
    let file = tempfile::Builder::new().suffix(".yml").tempfile().expect("a file");
    fs::write(file.path(), text).expect("it can be written");
    let mut command = Command::new(judge);
    let judged = command.args(["--builtin-schema", schema]).arg(file.path()).output();
    let judged = judged.expect("it starts");
    let said = String::from_utf8_lossy(&judged.stdout).into_owned();
    if judged.status.success() { Ok(()) } else { Err(said) }
}

/// The path of the checker; `None` if `PyPI` cannot be reached.
#[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
fn judge() -> Option<PathBuf> {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ci-judge");
    let (program, installed) = (home.join("bin/check-jsonschema"), home.join("installed"));
    if fs::read_to_string(&installed).is_ok_and(|it| it == JUDGE) {
        return Some(program);
    }
    let did = |command: &mut Command| command.output().is_ok_and(|done| done.status.success());
    let made = did(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&home));
    let pip = ["install", "--quiet", "--disable-pip-version-check", "--retries", "1", "--timeout"];
    if !made || !did(Command::new(home.join("bin/pip")).args(pip).args(["20", JUDGE])) {
        println!("skipped: {JUDGE} cannot be installed here (is PyPI reached?)");
        return None;
    }
    fs::write(installed, JUDGE).expect("it can be written");
    Some(program)
}
