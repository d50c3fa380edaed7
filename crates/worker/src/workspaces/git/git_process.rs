//! A command as a group of processes, until all of it has ended.
//!
//! A thread starts the command, reads its output and waits for its end, because these calls block. The future that waits for
//! the thread only keeps time: when it is dropped, it kills the group.

use std::io::{self, ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::time::timeout;

use crate::workspaces::file_lock::blocking;

/// How often the end of a command is looked for while another process keeps its output open.
const LOOK_AGAIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// The bytes that are kept of each output: the first half, and the last. No command prints as much.
const OUTPUT_MAX: usize = 1 << 20;

/// A command that has ended.
#[derive(Debug)]
pub(super) struct EndedProcess {
    pub(super) status: ExitStatus,
    pub(super) output: Vec<u8>,
    pub(super) message: Vec<u8>,
}

/// What is known of the group of a command.
#[derive(Clone, Copy, Debug, Default)]
enum GroupState {
    #[default]
    NotStarted,
    Running(Pid),
    /// It was to be killed.
    Killed,
    /// Its number can belong to others now.
    Ended,
}

/// The group, known to the thread and to the future.
#[derive(Clone, Debug, Default)]
struct ProcessGroup(Arc<Mutex<GroupState>>);

/// Kills the group when it is dropped.
struct GroupKiller(ProcessGroup);

impl Drop for GroupKiller {
    fn drop(&mut self) {
        self.0.kill();
    }
}

/// Runs a command. After the time is over, or when the future is dropped, it is killed with its group. `None` says that the
/// time was over.
pub(super) async fn run(
    mut command: Command,
    within: Duration,
) -> Option<io::Result<EndedProcess>> {
    command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
    let group = ProcessGroup::default();
    let killer = GroupKiller(group.clone());
    let ended = timeout(within, blocking(move || supervise(command, &group))).await;
    drop(killer);
    ended.ok()
}

/// Runs the command to its end. It holds what the command holds, such as a lock as its standard input, and blocks.
fn supervise(mut command: Command, group: &ProcessGroup) -> io::Result<EndedProcess> {
    let mut child = command.spawn()?;
    let pid = Pid::from_child(&child);
    group.started(pid);
    let collected = collect(&mut child, pid);
    if collected.is_err() {
        group.kill();
    }
    wait_for(pid, WaitIdOptions::empty());
    // What the command has left has no task any more.
    group.end();
    let status = child.wait()?;
    let (output, message) = collected?;
    Ok(EndedProcess { status, output, message })
}

/// Reads both outputs until they are closed, or until the command has ended and what it has written is read.
fn collect(child: &mut Child, pid: Pid) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let mut output = CapturedStream::new(child.stdout.take().expect("it is a pipe"))?;
    let mut message = CapturedStream::new(child.stderr.take().expect("it is a pipe"))?;
    loop {
        let ended = wait_for(pid, WaitIdOptions::NOHANG);
        output.read()?;
        message.read()?;
        if ended || output.closed && message.closed {
            break;
        }
        let mut open = Vec::new();
        open.extend((!output.closed).then(|| PollFd::new(&output.stream, PollFlags::IN)));
        open.extend((!message.closed).then(|| PollFd::new(&message.stream, PollFlags::IN)));
        match poll(&mut open, Some(&LOOK_AGAIN)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok((output.bytes(), message.bytes()))
}

/// Waits for the end of a child without removing it, so that its number stays its own. Returns whether it has ended.
fn wait_for(pid: Pid, how: WaitIdOptions) -> bool {
    loop {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | how;
        match waitid(WaitId::Pid(pid), options) {
            Err(Errno::INTR) => {}
            Ok(status) => return status.is_some(),
            Err(_) => return true,
        }
    }
}

impl ProcessGroup {
    fn started(&self, pid: Pid) {
        let mut state = self.state();
        if matches!(*state, GroupState::Killed) {
            kill(pid);
        } else {
            *state = GroupState::Running(pid);
        }
    }

    fn kill(&self) {
        let mut state = self.state();
        match *state {
            GroupState::NotStarted => *state = GroupState::Killed,
            GroupState::Running(pid) => kill(pid),
            GroupState::Killed | GroupState::Ended => {}
        }
    }

    fn end(&self) {
        self.kill();
        *self.state() = GroupState::Ended;
    }

    fn state(&self) -> MutexGuard<'_, GroupState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn kill(group: Pid) {
    // It fails if the group has ended.
    let _ = kill_process_group(group, Signal::KILL);
}

/// An output, of which the first and the last bytes are kept.
struct CapturedStream<S> {
    stream: S,
    closed: bool,
    first: Vec<u8>,
    last: Vec<u8>,
}

impl<S: Read + AsFd> CapturedStream<S> {
    fn new(stream: S) -> io::Result<Self> {
        ioctl_fionbio(&stream, true)?;
        Ok(Self { stream, closed: false, first: Vec::new(), last: Vec::new() })
    }

    /// Reads what is there.
    fn read(&mut self) -> io::Result<()> {
        let mut page = [0; 16 << 10];
        while !self.closed {
            match self.stream.read(&mut page) {
                Ok(0) => self.closed = true,
                Ok(length) => self.keep(&page[..length]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn keep(&mut self, bytes: &[u8]) {
        let half = OUTPUT_MAX / 2;
        let (first, last) = bytes.split_at(bytes.len().min(half - self.first.len()));
        self.first.extend_from_slice(first);
        self.last.extend_from_slice(last);
        if self.last.len() > 2 * half {
            self.last.drain(..self.last.len() - half);
        }
    }

    fn bytes(mut self) -> Vec<u8> {
        self.first.append(&mut self.last);
        self.first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null());
        command
    }

    const LONG: Duration = Duration::from_mins(1);

    #[tokio::test]
    async fn output_message_and_status_of_a_command_are_returned() {
        let ended = run(shell("echo out; echo err >&2; exit 3"), LONG).await.unwrap().unwrap();
        assert_eq!(ended.status.code(), Some(3));
        assert_eq!((&ended.output[..], &ended.message[..]), (&b"out\n"[..], &b"err\n"[..]));
    }

    #[tokio::test]
    async fn much_output_is_cut_in_its_middle() {
        let script = "echo first; head -c 5000000 /dev/zero; echo last";
        let ended = run(shell(script), LONG).await.unwrap().unwrap();
        assert!(ended.output.len() <= 2 * OUTPUT_MAX);
        assert!(ended.output.starts_with(b"first\n") && ended.output.ends_with(b"last\n"));
    }

    /// As the master process of an SSH connection does.
    #[tokio::test]
    async fn a_process_that_keeps_the_output_open_does_not_delay_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let pid = folder.path().join("pid");
        let script = format!(
            "setsid sh -c 'echo $$ > {0}.new; mv {0}.new {0}; exec sleep 600' & while ! [ -e {0} ]; do :; done",
            pid.display()
        );
        let ended = run(shell(&script), LONG).await.unwrap().unwrap();
        assert!(ended.status.success());
        let left = std::fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
        rustix::process::kill_process(Pid::from_raw(left).unwrap(), Signal::KILL).unwrap();
    }

    #[tokio::test]
    async fn group_is_killed_when_the_time_is_over() {
        let folder = tempfile::tempdir().unwrap();
        let lock = folder.path().join("lock");
        let held = std::fs::File::create(&lock).unwrap();
        held.lock().unwrap();
        let mut command = shell("sleep 600 & sleep 600");
        // Both processes hold the lock, so it is free when both are dead.
        command.stdin(held);
        assert!(run(command, Duration::from_millis(50)).await.is_none());
        let lock = std::fs::File::open(&lock).unwrap();
        timeout(LONG, blocking(move || lock.lock().unwrap())).await.unwrap();
    }
}
