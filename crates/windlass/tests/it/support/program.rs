//! A program that runs, and a program that has ended.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Output};
use std::time::Duration;

use tokio::time::Instant;

use super::waiting::{PATIENCE, pause, until};

/// The path of the program under test.
pub(crate) const WINDLASS: &str = env!("CARGO_BIN_EXE_windlass");

/// The result of a program.
#[derive(Debug)]
pub(crate) struct FinishedProgram {
    /// The exit code; `None` if a signal ended the program.
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
    /// Whether all of the output is UTF-8. Other bytes are replaced in `out` and `err`.
    pub(super) is_utf8: bool,
}

/// A program that runs, with its output in files. It is killed when the test drops it.
pub(crate) struct RunningProgram {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl From<Output> for FinishedProgram {
    fn from(output: Output) -> Self {
        let Output { status, stdout, stderr } = output;
        let is_utf8 = [&stdout, &stderr].iter().all(|bytes| str::from_utf8(bytes).is_ok());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { code: status.code(), out: text(&stdout), err: text(&stderr), is_utf8 }
    }
}

impl FinishedProgram {
    /// Fails unless the program ended with this code and printed this text to standard error.
    #[track_caller]
    pub(crate) fn expect_error(&self, code: i32, text: &str) {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert!(self.err.contains(text), "`{text}` is missing in: {}", self.err);
    }
}

impl RunningProgram {
    /// A child whose standard output and error go to these files.
    pub(super) const fn new(child: Child, out: PathBuf, err: PathBuf) -> Self {
        Self { child, out, err }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    #[cfg(unix)]
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("the process exists");
    }

    /// The standard output so far.
    pub(crate) fn printed(&self) -> String {
        fs::read_to_string(&self.out).unwrap_or_default()
    }

    /// The standard error so far.
    pub(crate) fn said(&self) -> String {
        fs::read_to_string(&self.err).unwrap_or_default()
    }

    /// Waits until the standard error has this text.
    #[track_caller]
    pub(crate) fn until_said(&self, text: &str) {
        let end = Instant::now() + PATIENCE;
        while !self.said().contains(text) {
            let said = self.said();
            assert!(Instant::now() < end, "`{text}` is missing after {PATIENCE:?} in: {said}");
            pause(Duration::from_millis(5));
        }
    }

    pub(crate) fn is_over(&mut self) -> bool {
        self.child.try_wait().expect("it is a child of this process").is_some()
    }

    /// The largest amount of memory that it has used, in KiB.
    pub(crate) fn peak(&self) -> u64 {
        self.kib("VmHWM:")
    }

    /// The memory that it uses now, in KiB.
    pub(crate) fn memory(&self) -> u64 {
        self.kib("VmRSS:")
    }

    fn kib(&self, field: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok()).unwrap_or(0)
    }

    /// Kills the program, and waits until it is dead.
    pub(crate) fn kill(&mut self) {
        // It fails if the program has ended already.
        drop(self.child.kill());
        until("the program is dead", || self.is_over());
    }

    /// Waits for the end of the program.
    #[track_caller]
    pub(crate) fn ended(self) -> FinishedProgram {
        self.ended_within(PATIENCE)
    }

    /// Waits for the end of the program, and fails if it takes longer than this.
    #[track_caller]
    pub(crate) fn ended_within(mut self, most: Duration) -> FinishedProgram {
        let late = Instant::now() + most;
        while !self.is_over() {
            assert!(Instant::now() < late, "it has not ended within {most:?}: {}", self.said());
            pause(Duration::from_millis(5));
        }
        let status = self.child.wait().expect("it has ended");
        let [stdout, stderr] =
            [&self.out, &self.err].map(|path| fs::read(path).unwrap_or_default());
        let ended = FinishedProgram::from(Output { status, stdout, stderr });
        assert!(!ended.err.contains("panicked"), "{}", ended.err);
        ended
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
