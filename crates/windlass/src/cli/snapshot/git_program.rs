//! Commands of git that only read.

use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

use super::snapshot_error::SnapshotError;

/// Maximum duration of a command: the slowest one compares all files of a work tree with the index.
const DEADLINE: Duration = Duration::from_mins(2);

/// Maximum bytes of a list of files: a million long paths.
const LIST_BYTES_MAX: u64 = 256 << 20;

/// Maximum bytes of messages.
const MESSAGE_BYTES_MAX: u64 = 16 << 10;

/// Variables that lead git to another repository or index than that of the folder: a hook of git has them.
const REPOSITORY_VARIABLES: [&str; 10] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// Variables that keep git from writing to the repository, asking the user, fetching objects, and translating messages.
const SETTINGS: [(&str, &str); 4] = [
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("LC_ALL", "C"),
];

/// The program.
#[derive(Clone, Debug)]
pub(super) struct GitProgram {
    pub(super) program: PathBuf,
}

/// The end of a command.
#[derive(Clone, Debug)]
pub(super) struct GitOutput {
    pub(super) succeeded: bool,
    pub(super) bytes: Vec<u8>,
    pub(super) messages: String,
}

impl GitOutput {
    /// Whether the folder is in no repository.
    pub(super) fn says_no_repository(&self) -> bool {
        !self.succeeded && self.messages.contains("not a git repository (or any")
    }

    /// Returns the error of a command that has failed.
    pub(super) fn failure(&self, folder: &Path) -> SnapshotError {
        let reason = self.messages.trim().to_owned();
        SnapshotError::Git { folder: folder.to_owned(), reason }
    }
}

impl GitProgram {
    /// Runs a command in a folder; a command that fails is an error.
    pub(super) fn read(
        &self,
        folder: &Path,
        arguments: &[&str],
    ) -> Result<GitOutput, SnapshotError> {
        let output = self.run(folder, arguments)?;
        if output.succeeded { Ok(output) } else { Err(output.failure(folder)) }
    }

    /// Runs a command in a folder.
    pub(super) fn run(
        &self,
        folder: &Path,
        arguments: &[&str],
    ) -> Result<GitOutput, SnapshotError> {
        let mut command = Command::new(&self.program);
        for variable in REPOSITORY_VARIABLES {
            command.env_remove(variable);
        }
        // The file system monitor would be started as a daemon.
        command.args(["-c", "core.fsmonitor=false"]).args(arguments).envs(SETTINGS);
        command.current_dir(folder).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().map_err(|error| match error.kind() {
            ErrorKind::NotFound => SnapshotError::NoGit,
            _ => failed(folder, &format!("it cannot be started: {error}")),
        })?;
        RunningGit { child }.end(folder)
    }
}

/// A running command. It is killed if it is dropped before its end.
#[derive(Debug)]
struct RunningGit {
    child: Child,
}

impl RunningGit {
    fn end(mut self, folder: &Path) -> Result<GitOutput, SnapshotError> {
        let stdout = self.child.stdout.take().expect("it is a pipe");
        let stderr = self.child.stderr.take().expect("it is a pipe");
        let bytes = read_all(stdout, LIST_BYTES_MAX);
        let messages = read_all(stderr, MESSAGE_BYTES_MAX);
        let ended = |read: &Receiver<io::Result<Vec<u8>>>| match read.recv_timeout(DEADLINE) {
            Ok(read) => read.map_err(|error| failed(folder, &error.to_string())),
            Err(_) => Err(failed(folder, &format!("no answer within {DEADLINE:?}"))),
        };
        let bytes = ended(&bytes)?;
        if bytes.len() as u64 > LIST_BYTES_MAX {
            return Err(failed(folder, "the list of files is longer than any snapshot"));
        }
        let messages = String::from_utf8_lossy(&ended(&messages)?).into_owned();
        let status = self.child.wait().map_err(|error| failed(folder, &error.to_string()))?;
        Ok(GitOutput { succeeded: status.success(), bytes, messages })
    }
}

impl Drop for RunningGit {
    fn drop(&mut self) {
        // A child that has ended and was waited for gets no signal.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Reads a pipe to its end on a thread, and keeps at most `limit` bytes and one.
fn read_all(pipe: impl Read + Send + 'static, limit: u64) -> Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = sync_channel(1);
    thread::spawn(move || {
        let (mut bytes, mut pipe) = (Vec::new(), pipe);
        let read = pipe.by_ref().take(limit + 1).read_to_end(&mut bytes);
        let read = read.and_then(|_| io::copy(&mut pipe, &mut io::sink()));
        drop(sender.send(read.map(|_| bytes)));
    });
    receiver
}

fn failed(folder: &Path, reason: &str) -> SnapshotError {
    SnapshotError::Git { folder: folder.to_owned(), reason: reason.to_owned() }
}
