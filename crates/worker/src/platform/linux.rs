//! Linux: subreaper, pidfds, `/proc`, and a timer that counts suspension.

use std::ffi::CStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::net::{RecvFlags, SendFlags};
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Signal, getpid, kill_process, pidfd_open, pidfd_send_signal,
    set_child_subreaper, set_dumpable_behavior,
};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use windlass_core::time::{Span, Time};

/// The flags for writes to the guard's socket: they never wait, and a closed reader is an error, not a signal.
pub(crate) const SEND: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);

/// The flags for reads from the guard's socket: they never wait, and no child inherits the descriptors that arrive.
pub(crate) const RECEIVE: RecvFlags = RecvFlags::DONTWAIT.union(RecvFlags::CMSG_CLOEXEC);

/// How often the guard looks for dead orphans while something runs. Nothing wakes it for them, and a step may leave
/// many. One look costs microseconds.
pub(crate) const POLL_INTERVAL: Span = Span::secs(1);

/// The number of bytes read at a time from the list of children. The kernel returns at most a page.
const LIST_PAGE: usize = 4096;

/// Makes this process the parent of every orphan among its descendants, and gives it a name that `ps` shows.
pub(crate) fn become_guard(name: &CStr) -> io::Result<()> {
    set_child_subreaper(Some(getpid()))?;
    rustix::thread::set_name(name)?;
    Ok(())
}

/// Keeps other processes of the same user from reading the memory and the environment of this one, and the system from
/// writing them to a core dump. Both hold secrets. A program that this process executes decides for itself.
pub fn hide_memory() {
    // It fails on kernels without this call: nothing changes then.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Returns the running program itself, even if its file was replaced or deleted meanwhile.
#[expect(clippy::unnecessary_wraps, reason = "on other systems it may fail")]
pub(crate) fn own_program() -> io::Result<PathBuf> {
    Ok(PathBuf::from("/proc/self/exe"))
}

/// Returns a descriptor that becomes readable when this child ends. Without one the child has to be polled.
pub(crate) fn exit_descriptor(child: Pid) -> Option<OwnedFd> {
    pidfd_open(child, PidfdFlags::empty()).ok()
}

/// Returns whether the group of a child has members that the list of children does not lead to. There are none: all are
/// descendants of the guard, and each orphan becomes its child.
pub(crate) const fn group_left(_leader: Pid) -> bool {
    false
}

/// Does nothing: received descriptors are not inherited, see [`RECEIVE`].
pub(crate) const fn set_close_on_exec(_received: &OwnedFd) {}

/// A timer that is part of a wait on descriptors. It counts suspension, which `poll` does not: a deadline that passed
/// during suspension takes effect at once on waking.
#[derive(Debug)]
pub(crate) struct DeadlineTimer {
    timer: Arc<OwnedFd>,
    at: Option<Time>,
}

impl DeadlineTimer {
    /// Creates a timer that is not set.
    pub(crate) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = Arc::new(timerfd_create(TimerfdClockId::Boottime, flags)?);
        Ok(Self { timer, at: None })
    }

    /// Sets it, also for a thread that already waits. It stays due until it is set again.
    pub(crate) fn set(&mut self, at: Option<Time>) -> io::Result<()> {
        if self.at == at {
            return Ok(());
        }
        // Zero would mean that the timer is not set.
        let millis = at.map_or(0, |at| at.as_millis().clamp(1, i64::MAX as u64).cast_signed());
        let value = Timespec { tv_sec: millis / 1000, tv_nsec: millis % 1000 * 1_000_000 };
        let once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let timer = Itimerspec { it_interval: once, it_value: value };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &timer)?;
        self.at = at;
        Ok(())
    }

    /// Returns the descriptor to wait for.
    #[expect(clippy::unnecessary_wraps, reason = "other systems have no such descriptor")]
    pub(crate) fn descriptor(&self) -> Option<Arc<OwnedFd>> {
        Some(Arc::clone(&self.timer))
    }

    /// Returns no limit for the wait: on this system the descriptor ends it.
    #[expect(clippy::unused_self, reason = "on other systems it depends on the time set")]
    pub(crate) const fn wait(&self, _now: Time) -> Option<Span> {
        None
    }
}

/// The children of one thread.
///
/// The kernel keeps a list for each thread. It has the children that the thread started, and those that one of its
/// children made siblings. Orphans go to the first living thread: if that one starts nothing, its list holds orphans
/// only.
#[derive(Debug)]
pub(crate) struct ThreadChildren {
    /// The kernel's list, if it has one. Otherwise all of `/proc` is searched for the children of the process.
    list: Option<File>,
    page: Box<[u8; LIST_PAGE]>,
}

impl ThreadChildren {
    /// Returns the children of the process's first thread.
    pub(crate) fn of_first_thread() -> Self {
        Self::of(&format!("/proc/self/task/{}/children", getpid().as_raw_nonzero()))
    }

    /// Returns the children of the calling thread.
    pub(crate) fn of_this_thread() -> Self {
        Self::of("/proc/thread-self/children")
    }

    fn of(list: &str) -> Self {
        Self { list: File::open(list).ok(), page: Box::new([0; LIST_PAGE]) }
    }

    /// Returns whether the children of different threads can be distinguished. Otherwise it lists those of all threads.
    pub(crate) const fn tells_threads_apart(&self) -> bool {
        self.list.is_some()
    }

    /// Adds all of them to a list, zombies included.
    pub(crate) fn list(&mut self, into: &mut Vec<Pid>) -> io::Result<()> {
        let Some(list) = &self.list else { return all_children(into) };
        let (mut offset, mut number) = (0, 0);
        loop {
            let length = list.read_at(&mut self.page[..], offset)?;
            offset += length as u64;
            for byte in &self.page[..length] {
                match byte {
                    b'0'..=b'9' => number = number * 10 + i32::from(byte - b'0'),
                    _ => into.extend(Pid::from_raw(std::mem::take(&mut number))),
                }
            }
            // The kernel fills a page as long as the next number fits. A read that leaves room was the last.
            if length < LIST_PAGE - 64 {
                return Ok(());
            }
        }
    }
}

/// Adds the children of all threads to a list by looking at every process. It is for kernels without lists, and for
/// cases where the thread does not matter.
pub(crate) fn all_children(into: &mut Vec<Pid>) -> io::Result<()> {
    let own = getpid().as_raw_nonzero().to_string();
    for pid in processes()? {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
        // The name in parentheses may contain anything: the fields follow it. The parent is the second.
        let parent = stat.as_deref().ok().and_then(|stat| stat.rsplit_once(") "));
        let parent = parent.and_then(|(_, rest)| rest.split(' ').nth(1));
        into.extend((parent == Some(&own)).then_some(pid));
    }
    Ok(())
}

/// Kills the children of all threads, also one that is just executing another program. It reads nothing that could
/// block.
pub(crate) fn kill_own_children() {
    let mut children = Vec::new();
    for thread in fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let list = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        children.extend(list.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)));
    }
    for child in children {
        // It fails for a process that this one may not signal.
        let _ = kill_process(child, Signal::KILL);
    }
}

/// Returns whether the environment that a process was started with has such an entry, `NAME=value`.
///
/// False for a zombie, and for a process whose environment this one may not read.
pub(crate) fn environment_has(process: Pid, entry: impl Fn(&[u8]) -> bool) -> bool {
    let path = format!("/proc/{}/environ", process.as_raw_nonzero());
    fs::read(path).is_ok_and(|environment| environment.split(|byte| *byte == 0).any(entry))
}

/// Returns whether a process is about to become a zombie or another program. Its environment is gone or not there yet,
/// but its children are still its own. A process that cleared its own arguments looks the same.
pub(crate) fn in_transition(process: Pid) -> bool {
    let arguments = fs::read(format!("/proc/{}/cmdline", process.as_raw_nonzero()));
    arguments.is_ok_and(|arguments| arguments.is_empty())
}

/// A process that was found by its environment.
#[derive(Debug)]
pub(crate) struct StrayProcess(OwnedFd);

impl StrayProcess {
    /// Kills this very process, even if its number has been given to another.
    pub(crate) fn kill(&self) {
        // It fails if the process has ended.
        let _ = pidfd_send_signal(&self.0, Signal::KILL);
    }
}

/// Returns every process, except the calling one, that was started with such an entry in its environment.
pub(crate) fn strays(entry: impl Fn(&[u8]) -> bool) -> io::Result<Vec<StrayProcess>> {
    let own = getpid();
    let found = processes()?.into_iter().filter(|pid| *pid != own).filter_map(|pid| {
        if !environment_has(pid, &entry) {
            return None;
        }
        let handle = pidfd_open(pid, PidfdFlags::empty()).ok()?;
        // Checked again: the number may have been given to another process before the handle was opened.
        environment_has(pid, &entry).then_some(StrayProcess(handle))
    });
    Ok(found.collect())
}

fn processes() -> io::Result<Vec<Pid>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.parse().ok());
        found.extend(number.and_then(Pid::from_raw));
    }
    Ok(found)
}
