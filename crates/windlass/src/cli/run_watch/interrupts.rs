//! User input during a run: Ctrl-C, a signal, a key.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use windlass_core::time::Span;

use crate::cli::output::KeyInput;

/// A request of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UserRequest {
    /// End the run.
    EndRun,
    /// Show the running steps.
    ShowStatus,
    /// The process was stopped and continues.
    ProcessResumed,
}

/// How long to wait for a key before checking whether the run still listens.
const KEY_TIMEOUT: Span = Span::millis(200);

/// Receives all of them.
#[derive(Debug)]
pub(crate) struct InterruptListener {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    show: Signal,
    resumed: Signal,
    keys: mpsc::Receiver<u8>,
}

impl InterruptListener {
    /// Listens for signals from now on. Before the first step starts, since a signal could otherwise end windlass and
    /// not the run.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            show: signal(SignalKind::user_defined1())?,
            resumed: signal(SignalKind::from_raw(rustix::process::Signal::CONT.as_raw()))?,
            keys: mpsc::channel(1).1,
        })
    }

    /// Also listens for keys, on a terminal.
    pub(crate) fn listen_to_keys(&mut self) -> io::Result<()> {
        let Some(keys) = KeyInput::listen() else { return Ok(()) };
        let (sender, receiver) = mpsc::channel(8);
        self.keys = receiver;
        std::thread::Builder::new().name("keys".to_owned()).spawn(move || {
            while !sender.is_closed() {
                // Keys are dropped if the queue is full.
                keys.next(KEY_TIMEOUT).map(|key| sender.try_send(key));
            }
        })?;
        Ok(())
    }

    /// Waits until the user asks for the end of the run.
    pub(crate) async fn next_end_request(&mut self) {
        while self.next().await != UserRequest::EndRun {}
    }

    /// The next request.
    pub(crate) async fn next(&mut self) -> UserRequest {
        loop {
            tokio::select! {
                _ = self.interrupt.recv() => return UserRequest::EndRun,
                _ = self.terminate.recv() => return UserRequest::EndRun,
                _ = self.hangup.recv() => return UserRequest::EndRun,
                _ = self.show.recv() => return UserRequest::ShowStatus,
                _ = self.resumed.recv() => return UserRequest::ProcessResumed,
                Some(key) = self.keys.recv() => if matches!(key, b't' | b'T') { return UserRequest::ShowStatus },
            }
        }
    }
}
