//! A folder with a pipeline file, and the programs that a test runs in it.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::hash::{BuildHasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::processes::is_alive;
use super::program::{FinishedProgram, RunningProgram, WINDLASS};
use super::waiting::until;

/// The variable that marks every process of a test with the folder of the test.
const MARK: &str = "E2E_FOLDER";

/// Variables that change the output of the program.
const OUTPUT_VARIABLES: [&str; 7] =
    ["NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "COLUMNS", "CI", "GITHUB_ACTIONS", "LC_ALL"];

/// A project folder, called `app`, in a temporary folder with the user's settings and state.
pub(crate) struct ProjectFolder {
    home: TempDir,
    environment: Vec<(&'static str, String)>,
}

impl ProjectFolder {
    /// A folder with this `windlass.yml`.
    pub(crate) fn with(pipeline: &str) -> Self {
        Self::empty().with_file("windlass.yml", pipeline)
    }

    /// A folder without a pipeline.
    pub(crate) fn empty() -> Self {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        fs::create_dir(home.path().join("app")).expect("the folder is new");
        Self { home, environment: Vec::new() }
    }

    /// The same folder with one more file.
    pub(crate) fn with_file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        self.file(name, content);
        self
    }

    /// The same folder; programs that start later have this variable.
    pub(crate) fn set(mut self, name: &'static str, value: &str) -> Self {
        self.environment.push((name, value.to_owned()));
        self
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.home.path().join("app")
    }

    /// The folder of the user's settings.
    pub(crate) fn config(&self) -> PathBuf {
        self.home.path().join("config")
    }

    /// Writes a file, and the folders above it.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().expect("it is in the folder")).expect("it can be made");
        fs::write(path, content).expect("the file can be written");
    }

    /// The content of a file; empty if there is no such file.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap_or_default()
    }

    pub(crate) fn lines(&self, name: &str) -> Vec<String> {
        self.read(name).lines().map(str::to_owned).collect()
    }

    /// The program under test with these arguments, split at blanks.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = self.program(WINDLASS);
        command.args(line.split_whitespace());
        command
    }

    /// Any program, in the folder and without the variables of the user that runs the tests.
    pub(crate) fn program(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.current_dir(self.path()).stdin(Stdio::null());
        for (name, _) in std::env::vars().filter(|(name, _)| is_setting(name)) {
            command.env_remove(name);
        }
        for name in OUTPUT_VARIABLES {
            command.env_remove(name);
        }
        command.env("LANG", "C.UTF-8").env(MARK, self.home.path());
        command.env("XDG_CONFIG_HOME", self.config());
        command.env("XDG_STATE_HOME", self.home.path().join("state"));
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Starts an example in Rust with these arguments, split at blanks.
    pub(crate) fn start_example(&self, name: &str, line: &str) -> RunningProgram {
        let mut command = self.program(example(name));
        command.args(line.split_whitespace());
        self.start_command(command)
    }

    /// Runs an example in Rust to its end.
    #[track_caller]
    pub(crate) fn run_example(&self, name: &str, line: &str) -> FinishedProgram {
        self.start_example(name, line).ended()
    }

    /// Runs the program to its end.
    #[track_caller]
    pub(crate) fn run(&self, line: &str) -> FinishedProgram {
        self.start(line).ended()
    }

    /// The standard output of a command, which has to succeed.
    #[track_caller]
    pub(crate) fn data(&self, line: &str) -> String {
        let ended = self.run(line);
        assert_eq!(ended.code, Some(0), "{line}: {ended:?}");
        ended.out
    }

    /// Runs the program, and shows the exit code if it is not 0, the standard output and the standard error.
    pub(crate) fn page(&self, line: &str) -> String {
        self.run(line).page()
    }

    /// Runs the command that a message names: it begins like this, and goes on to the end of the line or the quotation.
    pub(crate) fn pasted(&self, said: &str, begins: &str) -> FinishedProgram {
        let (_, behind) = said.split_once(begins).expect("the message names the command");
        let rest = behind.split(['`', '\n']).next().unwrap_or_default();
        let line = format!("{}{rest}", begins.trim_start_matches('`'));
        let mut command = self.program("sh");
        let folder = Path::new(WINDLASS).parent().expect("a program is in a folder");
        let path = format!("{}:/usr/bin:/bin", folder.display());
        command.args(["-c", &line]).env("PATH", path);
        self.start_command(command).ended()
    }

    pub(crate) fn start(&self, line: &str) -> RunningProgram {
        self.start_command(self.command(line))
    }

    pub(crate) fn start_command(&self, mut command: Command) -> RunningProgram {
        let number = RandomState::new().hash_one(0);
        let file = |kind: &str| self.home.path().join(format!("{number}.{kind}"));
        let (out, err) = (file("out"), file("err"));
        let open = |path: &Path| File::create(path).expect("the file can be made");
        command.stdout(open(&out)).stderr(open(&err));
        let child = command.spawn().expect("the program starts");
        RunningProgram::new(child, out, err)
    }

    /// The latest run, as `show` prints it.
    pub(crate) fn show(&self) -> Value {
        serde_json::from_str(&self.data("show latest --json")).expect("it is JSON")
    }

    /// The status of a step of the latest run.
    pub(crate) fn status(&self, step: &str) -> String {
        self.step(step)["status"].as_str().unwrap_or_default().to_owned()
    }

    /// A step of the latest run.
    pub(crate) fn step(&self, name: &str) -> Value {
        step(&self.show(), name).clone()
    }

    /// Waits until a file has this many lines.
    #[track_caller]
    pub(crate) fn until_lines(&self, name: &str, count: usize) {
        until(&format!("{count} lines in {name}"), || self.lines(name).len() >= count);
    }

    /// The processes of this test that are still alive, except those that cleared their environment.
    pub(crate) fn left(&self) -> Vec<String> {
        let mark = format!("{MARK}={}", self.home.path().display());
        let carries = |pid: &String| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
        };
        let pids = fs::read_dir("/proc").expect("this is Linux").flatten();
        let pids = pids.filter_map(|entry| entry.file_name().into_string().ok());
        pids.filter(|pid| pid.parse::<u32>().is_ok()).filter(carries).collect()
    }

    /// Waits until every process of this test has ended, and these too.
    pub(crate) fn until_nothing_is_left(&self, pids: &[String]) {
        until("every process has ended", || {
            self.left().is_empty() && !pids.iter().any(|pid| is_alive(pid))
        });
    }
}

impl FinishedProgram {
    /// The exit code if it is not 0, the standard output and the standard error, for snapshots.
    pub(crate) fn page(&self) -> String {
        assert!(self.is_utf8, "the program prints UTF-8: {self:?}");
        let mut page = String::new();
        let code = self.code.expect("no signal ended the program");
        if code != 0 {
            let _ = writeln!(page, "exit code {code}");
        }
        page.push_str(&self.out);
        if !self.err.is_empty() {
            let _ = write!(page, "--- said ---\n{}", self.err);
        }
        page
    }
}

/// A step in the JSON of a run.
pub(crate) fn step<'a>(run: &'a Value, name: &str) -> &'a Value {
    let mut steps = run["steps"].as_array().expect("a run lists its steps").iter();
    steps.find(|step| step["name"] == name).expect("the run has that step")
}

/// The program of an example, which is built with the tests.
pub(crate) fn example(name: &str) -> PathBuf {
    let programs = Path::new(WINDLASS).parent().expect("a program is in a folder");
    let program = programs.join("examples").join(name);
    assert!(program.exists(), "{} is built with `cargo test`", program.display());
    program
}

/// The root of the repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Whether a variable is a setting of the program.
fn is_setting(name: &str) -> bool {
    name.starts_with("WINDLASS_") || name.starts_with("OTEL_") || name == "TRACEPARENT"
}
