//! The vocabulary of these tests: a folder, the program in it, and everything that it started.

use std::fs::{self, File};
use std::hash::{BuildHasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;
use tokio::time::Instant;

/// Longer than anything here takes on a machine that is overloaded.
const PATIENCE: Duration = Duration::from_mins(2);

/// Names the folder of a test in the environment of everything that it starts.
const MARK: &str = "E2E_FOLDER";

/// A folder with a pipeline, in which the program is run.
pub(crate) struct RunFolder {
    home: TempDir,
    environment: Vec<(&'static str, String)>,
}

/// What a run of the program came to.
#[derive(Debug)]
pub(crate) struct FinishedProgram {
    /// `None`: a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// The program while it runs; it is killed if its test is over first.
pub(crate) struct RunningProgram {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl RunFolder {
    /// A folder with this `windlass.yml`.
    pub(crate) fn with(pipeline: &str) -> Self {
        let home = tempfile::tempdir().expect("there is room for a folder");
        fs::create_dir(home.path().join("app")).expect("it is new");
        let place = Self { home, environment: Vec::new() };
        place.file("windlass.yml", pipeline);
        place
    }

    /// Everything that is started from now on has this in its environment.
    pub(crate) fn set(mut self, name: &'static str, value: &str) -> Self {
        self.environment.push((name, value.to_owned()));
        self
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.home.path().join("app")
    }

    /// Where the program keeps what it was told to remember.
    pub(crate) fn config(&self) -> PathBuf {
        self.home.path().join("config")
    }

    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path().join(name), content).expect("it can be written");
    }

    /// What steps wrote to a file; nothing if it is not there yet.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap_or_default()
    }

    pub(crate) fn lines(&self, name: &str) -> Vec<String> {
        self.read(name).lines().map(str::to_owned).collect()
    }

    /// The program with these arguments, split at blanks.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = self.program(env!("CARGO_BIN_EXE_windlass"));
        command.args(line.split_whitespace());
        command
    }

    /// Any program, in the folder and with an environment that says nothing.
    pub(crate) fn program(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.path()).stdin(Stdio::null());
        for (name, _) in std::env::vars().filter(|(name, _)| is_ours(name)) {
            command.env_remove(name);
        }
        for name in [
            "NO_COLOR",
            "FORCE_COLOR",
            "CLICOLOR_FORCE",
            "COLUMNS",
            "CI",
            "GITHUB_ACTIONS",
            "LC_ALL",
        ] {
            command.env_remove(name);
        }
        command.env("LANG", "C.UTF-8").env(MARK, self.home.path());
        // What somebody saved for themselves is not for tests.
        command.env("XDG_CONFIG_HOME", self.config());
        command.env("XDG_STATE_HOME", self.home.path().join("state"));
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, line: &str) -> FinishedProgram {
        self.start(line).ended()
    }

    /// What it printed; it must have gone well.
    pub(crate) fn data(&self, line: &str) -> String {
        let ended = self.run(line);
        assert_eq!(ended.code, Some(0), "{line}: {ended:?}");
        ended.out
    }

    pub(crate) fn start(&self, line: &str) -> RunningProgram {
        self.start_command(self.command(line))
    }

    pub(crate) fn start_command(&self, mut command: Command) -> RunningProgram {
        let number = RandomState::new().hash_one(0);
        let file = |kind: &str| self.home.path().join(format!("{number}.{kind}"));
        let (out, err) = (file("out"), file("err"));
        let open = |path: &Path| File::create(path).expect("it can be made");
        command.stdout(open(&out)).stderr(open(&err));
        let child = command.spawn().expect("the program starts");
        RunningProgram { child, out, err }
    }

    /// The latest run, as `show` tells it.
    pub(crate) fn show(&self) -> Value {
        serde_json::from_str(&self.data("show latest --json")).expect("it is JSON")
    }

    /// How a step of the latest run stands.
    pub(crate) fn status(&self, step: &str) -> String {
        self.step(step)["status"].as_str().unwrap_or_default().to_owned()
    }

    /// A step of the latest run.
    pub(crate) fn step(&self, name: &str) -> Value {
        let run = self.show();
        let mut steps = run["steps"].as_array().expect("it lists steps").iter();
        steps.find(|step| step["name"] == name).expect("it has that step").clone()
    }

    /// Waits until steps have written so many lines to a file.
    pub(crate) fn until_lines(&self, name: &str, count: usize) {
        until(&format!("{count} lines in {name}"), || self.lines(name).len() >= count);
    }

    /// Everything that was started here and is still there, but for those who cleared their environment.
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

    /// Waits until nothing is left of what was started here, and of these processes.
    pub(crate) fn until_nothing_is_left(&self, pids: &[String]) {
        until("everything is gone", || {
            self.left().is_empty() && !pids.iter().any(|pid| is_alive(pid))
        });
    }
}

/// What would have the program behave as it does for whoever runs the tests.
fn is_ours(name: &str) -> bool {
    name.starts_with("WINDLASS_") || name.starts_with("OTEL_") || name == "TRACEPARENT"
}

impl RunningProgram {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it is there");
    }

    /// What it has printed so far.
    pub(crate) fn printed(&self) -> String {
        fs::read_to_string(&self.out).unwrap_or_default()
    }

    /// What it has said so far.
    pub(crate) fn said(&self) -> String {
        fs::read_to_string(&self.err).unwrap_or_default()
    }

    pub(crate) fn is_over(&mut self) -> bool {
        self.child.try_wait().expect("it is ours").is_some()
    }

    /// The most memory that it has had, in KiB.
    pub(crate) fn peak(&self) -> u64 {
        self.kib("VmHWM:")
    }

    /// The memory that it has now, in KiB.
    pub(crate) fn memory(&self) -> u64 {
        self.kib("VmRSS:")
    }

    fn kib(&self, field: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok()).unwrap_or(0)
    }

    /// Waits for its end.
    pub(crate) fn ended(self) -> FinishedProgram {
        self.ended_within(PATIENCE)
    }

    /// Waits for its end, which must come in time.
    #[track_caller]
    pub(crate) fn ended_within(mut self, most: Duration) -> FinishedProgram {
        let late = Instant::now() + most;
        while !self.is_over() {
            assert!(Instant::now() < late, "it has not ended within {most:?}: {}", self.said());
            pause(Duration::from_millis(5));
        }
        let status = self.child.wait().expect("it has ended");
        let text = |path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
        let (out, err) = (text(&self.out), text(&self.err));
        assert!(!err.contains("panicked"), "{err}");
        FinishedProgram { code: status.code(), out, err }
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        if !self.is_over() {
            drop(self.child.kill());
            drop(self.child.wait());
        }
    }
}

/// Does as a reader of hints does: pastes the command that begins so, up to the end of its line or quotation.
pub(crate) fn pasted(place: &RunFolder, said: &str, begins: &str) -> FinishedProgram {
    let (_, behind) = said.split_once(begins).expect("there is such a command");
    let rest = behind.split(['`', '\n']).next().unwrap_or_default();
    let line = format!("{}{rest}", begins.trim_start_matches('`'));
    let mut command = place.program("sh");
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_windlass"));
    let path = format!("{}:/usr/bin:/bin", program.parent().expect("it is in a folder").display());
    command.args(["-c", &line]).env("PATH", path);
    place.start_command(command).ended()
}

/// Waits for something that has to come.
pub(crate) fn until(what: &str, mut reached: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !reached() {
        assert!(Instant::now() < end, "{what}: not within {PATIENCE:?}");
        pause(Duration::from_millis(5));
    }
}

#[expect(clippy::disallowed_methods, reason = "nothing tells when another process has got so far")]
pub(crate) fn pause(time: Duration) {
    std::thread::sleep(time);
}

/// Whether a process is there and is not a zombie.
pub(crate) fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| {
        stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
    })
}

/// Whether there is time for what finds more.
pub(crate) fn deep() -> bool {
    std::env::vars().any(|(name, _)| name == "WINDLASS_DEEP")
}

/// A number below another, a different one each time.
pub(crate) fn chance(below: usize) -> usize {
    let number = RandomState::new().hash_one(below);
    usize::try_from(number % below as u64).expect("it is below a usize")
}
