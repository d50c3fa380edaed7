//! How a program becomes a guard instead of what it is.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tokio::signal::unix::{SignalKind, signal};

use super::process::Process;
use crate::link::post::Links;

/// The first argument of a program that is asked to be a guard.
const ARGUMENT: &str = "__guard";

/// Set for a program that is asked to be a guard: the number of the descriptor by which it reaches the worker, always
/// that of its standard input. No step sees it.
pub(super) const SOCKET_VARIABLE: &str = "WINDLASS_GUARD_SOCKET";
const SOCKET: &str = "0";

/// Becomes the guard of the worker that started this process, if it was started for that; returns at once otherwise.
///
/// A worker executes its own program anew to have a guard. A program that embeds a worker therefore has to call this
/// first in its `main`, before it starts a thread or a runtime.
pub fn main_if_asked() {
    main_if_asked_with(&Links::built_in());
}

/// The same for a program that has links of its own, by which the guard may have to tell the leader of the worker's death.
pub fn main_if_asked_with(links: &Links) {
    if std::env::args_os().nth(1).is_none_or(|argument| argument != ARGUMENT) || !is_asked() {
        return;
    }
    let process = outlive_signals().and_then(|()| socket()).and_then(Process::new);
    let served = process.and_then(|process| process.run(links));
    // The worker sees that the socket is closed; there is nobody else to tell.
    #[expect(clippy::exit, reason = "`main` of the embedding program must not go on")]
    std::process::exit(i32::from(served.is_err()));
}

/// Lets signals pass that are meant for the worker: `pkill windlass`, or a service manager that ends a whole group, tells
/// the guard too. The worker decides what they mean; if it dies of one, the guard sees that.
///
/// By handlers and not by ignoring them: what is ignored stays so for every step. Handlers outlive the runtime, which
/// nothing else needs.
fn outlive_signals() -> io::Result<()> {
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

/// Whether this process was started to be a guard.
#[expect(clippy::disallowed_methods, reason = "it is read before there is anything to pass it by")]
fn is_asked() -> bool {
    std::env::var_os(SOCKET_VARIABLE).is_some_and(|value| value == SOCKET)
}

/// Takes the socket, and leaves its place to what every step reads: nothing. A step inherits that for less than it would
/// cost to open it anew.
fn socket() -> io::Result<UnixStream> {
    let socket = io::stdin().as_fd().try_clone_to_owned()?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    Ok(socket.into())
}

/// Starts a guard: a process, and the worker's end of its socket.
pub(super) fn start(program: &Path) -> io::Result<(Child, UnixStream)> {
    if is_asked() {
        let text = "this process was started to be a guard: its program has to call \
            `windlass::worker::guard::main_if_asked()` first in `main`";
        return Err(io::Error::other(text));
    }
    let (own, of_guard) = UnixStream::pair()?;
    // Standard input is how a descriptor is handed on without being inheritable here for a moment.
    let guard = Command::new(program)
        .arg(ARGUMENT)
        .env(SOCKET_VARIABLE, SOCKET)
        // Whoever ends what is left of an earlier run finds it by this: the guard is no part of one.
        .env_remove("WINDLASS_RUN")
        .stdin(Stdio::from(std::os::fd::OwnedFd::from(of_guard)))
        .stdout(Stdio::null())
        .spawn()?;
    Ok((guard, own))
}
