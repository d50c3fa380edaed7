//! A folder, and the program run in it: the vocabulary of these tests.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A folder of its own, called `app`, in which the program is run.
pub(super) struct CliFolder {
    home: TempDir,
}

impl CliFolder {
    /// An empty folder.
    pub(super) fn empty() -> Self {
        let folder = Self { home: tempfile::tempdir().expect("there is room for a folder") };
        fs::create_dir(folder.path()).expect("it is new");
        folder
    }

    /// A folder with this `windlass.yml`.
    pub(super) fn with(pipeline: &str) -> Self {
        Self::empty().file("windlass.yml", pipeline)
    }

    /// The same, with another file.
    pub(super) fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().expect("it is in the folder")).expect("it can be made");
        fs::write(path, content).expect("it can be written");
        self
    }

    pub(super) fn path(&self) -> PathBuf {
        self.home.path().join("app")
    }

    /// Runs the program and shows all of it: the exit code if it is not 0, what it printed, what it said.
    pub(super) fn run(&self, line: &str) -> String {
        shown(&self.output(line))
    }

    /// What it printed; it must have gone well.
    pub(super) fn data(&self, line: &str) -> String {
        let output = self.output(line);
        assert!(output.status.success(), "{line}: {}", shown(&output));
        String::from_utf8(output.stdout).expect("it prints UTF-8")
    }

    pub(super) fn output(&self, line: &str) -> Output {
        self.command(line).output().expect("the program starts")
    }

    pub(super) fn command(&self, line: &str) -> Command {
        command(&self.path(), line)
    }
}

/// The program with these arguments, split at blanks, in a folder and with an environment that says nothing.
pub(super) fn command(folder: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.args(line.split_whitespace()).current_dir(folder).stdin(Stdio::null());
    for variable in
        ["NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "COLUMNS", "CI", "GITHUB_ACTIONS", "LC_ALL"]
    {
        command.env_remove(variable);
    }
    for variable in ["WINDLASS_URL", "WINDLASS_TOKEN_FILE", "WINDLASS_CA"] {
        command.env_remove(variable);
    }
    // What somebody saved for themselves is not for tests.
    command.env("LANG", "C.UTF-8").env("XDG_CONFIG_HOME", folder.join("config"));
    command
}

/// The root of the repository.
pub(super) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(super) fn shown(output: &Output) -> String {
    let mut page = String::new();
    let code = output.status.code().expect("it ends by itself");
    if code != 0 {
        let _ = writeln!(page, "exit code {code}");
    }
    for (name, bytes) in [("", &output.stdout), ("--- said ---\n", &output.stderr)] {
        if !bytes.is_empty() {
            let text = std::str::from_utf8(bytes).expect("it prints UTF-8");
            page.push_str(name);
            page.push_str(text);
        }
    }
    page
}

/// A pipeline with a bit of everything.
pub(super) const SHIP: &str = r#"name: ship
params:
  channel: { choose: [beta, stable], default: beta }
env: { CARGO_TERM_COLOR: always }
locks: { device-farm: 2 }
defaults: { timeout: 15m, retry: 1 }
steps:
  lint:
    about: Clippy, warnings are errors
    run: cargo clippy -- -D warnings
  test:
    needs: lint
    matrix: { os: [linux, plan9], db: [sqlite, postgres], exclude: { os: plan9, db: postgres } }
    env: { DB: "${{ matrix.db }}" }
    run: cargo nextest run --profile ci
    retry: { times: 2, wait: 5s..1m, on: [exit-101, timed_out], elsewhere: true, lost: 3 }
  bundle:
    needs: test
    requires: [cpu>=1, "gpu | executor=shell", not spot]
    priority: 10
    env: { CHANNEL: "${{ params.channel }}" }
    run: |
      ./bundle.sh "$CHANNEL" ${{ params.channel }}
      echo "version=$(cat VERSION)" >> "$WINDLASS_OUTPUT"
    outputs: [version]
  soak: { needs: bundle, lock: device-farm, timeout: 1h, run: ./soak.sh dist/ }
  deploy:
    needs: [bundle, soak]
    if: params.channel == "stable"
    lock: { name: prod, order: newest-first }
    secrets: [DEPLOY_TOKEN]
    retry: { lost: 0 }
    run: ./deploy.sh ${{ steps.bundle.outputs.version }}
  tell: { needs: { step: deploy, optional: true }, if: always(), pin: leader, run: ./notify.sh }
"#;
