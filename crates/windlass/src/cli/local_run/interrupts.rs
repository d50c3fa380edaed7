//! What a person does to a run while it runs: Ctrl-C, a signal, a key.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use windlass_core::time::Span;

use crate::cli::output::KeyInput;

/// What somebody wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UserRequest {
    /// The run is to end.
    EndRun,
    /// What runs now is to be shown.
    ShowStatus,
    /// The process was stopped and goes on.
    ProcessResumed,
}

/// How long a key is waited for before it is looked whether anybody still wants it.
const KEY_TIMEOUT: Span = Span::millis(200);

/// Hears all of them.
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
    /// Listens to signals from now on: before the first step starts, or one of them could end windlass and not the run.
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

    /// Listens to keys too, where a person may press one.
    pub(crate) fn listen_to_keys(&mut self) -> io::Result<()> {
        let Some(keys) = KeyInput::listen() else { return Ok(()) };
        let (sender, receiver) = mpsc::channel(8);
        self.keys = receiver;
        std::thread::Builder::new().name("keys".to_owned()).spawn(move || {
            while !sender.is_closed() {
                // Keys that nobody takes in time are not wanted.
                keys.next(KEY_TIMEOUT).map(|key| sender.try_send(key));
            }
        })?;
        Ok(())
    }

    /// The next wish.
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
