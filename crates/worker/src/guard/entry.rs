//! The entry points by which a program becomes a guard or a tether.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};
use windlass_link::mailbox::MailboxRegistry;

use super::guard_process::GuardProcess;
use super::lifeline::GuardLifeline;
use super::tether::TetherRelay;
use crate::platform::hide_memory;
use crate::{GuardLock, platform};

/// The role of a program that is executed anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GuardRole {
    /// A guard that starts steps itself.
    Guard,
    /// A guard that starts steps through tethers.
    GuardWithTethers,
    /// A tether of a guard.
    Tether,
}

impl GuardRole {
    const ALL: [Self; 3] = [Self::Guard, Self::GuardWithTethers, Self::Tether];

    /// Returns the first argument of a program that is started in this role.
    const fn argument(self) -> &'static str {
        match self {
            Self::Guard => "__guard",
            Self::GuardWithTethers => "__guard-with-tethers",
            Self::Tether => "__tether",
        }
    }

    /// Returns the role that this process was started in, if it was started in one.
    fn of_this_process() -> Option<Self> {
        let argument = std::env::args_os().nth(1)?;
        let mut roles = Self::ALL.into_iter();
        roles.find(|role| argument == role.argument()).filter(|_| is_asked())
    }
}

/// Set for a program that is started as a guard. It is the number of the descriptor that leads to the worker, always
/// that of its standard input. Steps do not inherit it.
pub(super) const SOCKET_VARIABLE: &str = "WINDLASS_GUARD_SOCKET";
const SOCKET: &str = "0";

/// Set for a tether. It is the mark that its guard puts on steps. Steps do not inherit it.
pub(super) const TETHER_VARIABLE: &str = "WINDLASS_TETHER_OF";

/// Whether this process has called [`main_if_asked`] in time. If so, its program becomes a guard when it is executed
/// anew.
static BECOMES_GUARD: AtomicBool = AtomicBool::new(false);

/// Whether this process has called [`main_if_asked`] too late. If so, its program would repeat earlier work when it is
/// executed anew.
static ASKS_TOO_LATE: AtomicBool = AtomicBool::new(false);

/// Whether this process has begun to run a pipeline.
static HAS_RUN: AtomicBool = AtomicBool::new(false);

/// Becomes the guard of the worker that started this process, if it was started for that; returns at once otherwise.
///
/// A worker executes its own program anew to have a guard. A program that embeds a worker therefore has to call this
/// first in its `main`, before it starts a thread or a runtime. Code before this call also runs in the guard process.
/// A program that never makes this call, or makes it inside a runtime or after it has run a pipeline, is never executed anew:
/// its commands fail with an error.
pub fn main_if_asked() {
    main_if_asked_with(&MailboxRegistry::built_in());
}

/// Does the same for a program with links of its own, by which the guard may report the worker's death to the leader.
pub fn main_if_asked_with(links: &MailboxRegistry) {
    // A guard cannot run inside a runtime of its program, and must not repeat its runs.
    if HAS_RUN.load(Ordering::Relaxed) || Handle::try_current().is_ok() {
        ASKS_TOO_LATE.store(true, Ordering::Relaxed);
        return refuse_to_run_in_guard();
    }
    BECOMES_GUARD.store(true, Ordering::Relaxed);
    let Some(role) = GuardRole::of_this_process() else { return };
    hide_memory();
    let served =
        install_noop_signal_handlers().and_then(|()| socket()).and_then(|socket| match role {
            GuardRole::Guard => GuardProcess::guard(socket)?.run(links),
            GuardRole::GuardWithTethers => TetherRelay::run(socket, links),
            GuardRole::Tether => GuardProcess::tether(socket)?.run(links),
        });
    // The worker sees that the socket is closed; no other process needs the error.
    #[expect(clippy::exit, reason = "`main` of the embedding program must not go on")]
    std::process::exit(i32::from(served.is_err()));
}

/// Records that this process runs a pipeline. A process that was started as a guard ends here: its program calls
/// [`main_if_asked`] too late or not at all, and the pipeline would run a second time.
pub fn begin_pipeline() {
    HAS_RUN.store(true, Ordering::Relaxed);
    refuse_to_run_in_guard();
}

fn refuse_to_run_in_guard() {
    if GuardRole::of_this_process().is_none() {
        return;
    }
    // No other process reads it: the process that started this one only sees that it has ended.
    drop(writeln!(io::stderr(), "error: {}", not_in_time("calls it too late, or not at all")));
    #[expect(clippy::exit, reason = "nothing of the program may run a second time")]
    std::process::exit(1);
}

/// Installs handlers without effect for signals that are meant for the worker: `pkill windlass`, or a service manager
/// that ends a whole group, also signals the guard. The worker decides what they mean. If it dies of one, the guard
/// sees that.
///
/// Ignoring them is no alternative, because every step would inherit that. Handlers outlive the runtime, which nothing
/// else needs.
fn install_noop_signal_handlers() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let _entered = runtime.enter();
    let kinds = [
        SignalKind::hangup(),
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::user_defined1(),
    ];
    kinds.into_iter().try_for_each(|kind| signal(kind).map(drop))
}

/// Returns whether this process was started as a guard.
#[expect(clippy::disallowed_methods, reason = "nothing else can pass it at this point")]
fn is_asked() -> bool {
    std::env::var_os(SOCKET_VARIABLE).is_some_and(|value| value == SOCKET)
}

/// Takes the socket, and puts an empty input in its place, which every step reads. A step inherits that for less than
/// it would cost to open it again.
fn socket() -> io::Result<UnixStream> {
    let socket = io::stdin().as_fd().try_clone_to_owned()?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    Ok(socket.into())
}

/// Refuses to execute the running program anew if it would not become a guard, because it would run its own `main` a
/// second time.
pub(super) fn check_own_program() -> io::Result<()> {
    if BECOMES_GUARD.load(Ordering::Relaxed) {
        return Ok(());
    }
    let is_late = ASKS_TOO_LATE.load(Ordering::Relaxed);
    let what = if is_late { "calls it too late" } else { "does not call it" };
    Err(io::Error::other(not_in_time(what)))
}

fn not_in_time(what: &str) -> String {
    format!(
        "commands run under a guard process, which is this program executed anew in `windlass::init()`, and this program \
         {what}: call it first in `main`, before a runtime is started (with `#[tokio::main]`, write a plain `fn main` that \
         calls it and then builds the runtime) and before a pipeline is run, or use `Pipeline::main()`"
    )
}

/// A guard or a tether that was started, with its connection to the process that started it.
#[derive(Debug)]
pub(super) struct GuardChild {
    pub(super) child: Child,
    pub(super) socket: UnixStream,
    pub(super) lifeline: GuardLifeline,
}

/// Starts a guard. If there is a lock, the guard and its tethers hold it.
pub(super) fn start(
    program: &Path,
    role: GuardRole,
    lock: Option<GuardLock>,
) -> io::Result<GuardChild> {
    if is_asked() {
        let text = "this process was started to be a guard: its program has to call \
            `windlass::worker::guard::main_if_asked()` first in `main`";
        return Err(io::Error::other(text));
    }
    let (lifeline, held_by_guard) = GuardLifeline::new(lock)?;
    let (socket, of_guard) = UnixStream::pair()?;
    // A child receives descriptors as standard input and output, so they are never inheritable in this process.
    let child = Command::new(program)
        .arg(role.argument())
        .env(SOCKET_VARIABLE, SOCKET)
        // The cleanup after an earlier run finds its processes by this variable, and the guard is not part of a run.
        .env_remove("WINDLASS_RUN")
        .stdin(Stdio::from(OwnedFd::from(of_guard)))
        .stdout(held_by_guard)
        .spawn()?;
    Ok(GuardChild { child, socket, lifeline })
}

/// Starts a tether of this guard. It inherits the lifeline, and leads a group of its own in the guard's session.
pub(super) fn start_tether(mark: &str) -> io::Result<(Child, UnixStream)> {
    let (socket, of_tether) = UnixStream::pair()?;
    let child = Command::new(platform::own_program()?)
        .arg(GuardRole::Tether.argument())
        .env(SOCKET_VARIABLE, SOCKET)
        .env(TETHER_VARIABLE, mark)
        .process_group(0)
        .stdin(Stdio::from(OwnedFd::from(of_tether)))
        .spawn()?;
    socket.set_nonblocking(true)?;
    Ok((child, socket))
}
