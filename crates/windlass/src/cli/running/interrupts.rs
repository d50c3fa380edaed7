//! What a person does to a run while it runs: Ctrl-C, a signal, a key.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use windlass_core::time::Span;

use crate::cli::output::Keys;

/// What somebody wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// The run is to end.
    End,
    /// What runs now is to be shown.
    Show,
    /// The process was stopped and goes on.
    Resumed,
}

/// How long a key is waited for before it is looked whether anybody still wants it.
const KEY_WAIT: Span = Span::millis(200);

/// Hears all of them.
#[derive(Debug)]
pub(crate) struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    show: Signal,
    resumed: Signal,
    keys: mpsc::Receiver<u8>,
}

impl Interrupts {
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
        let Some(keys) = Keys::listen() else { return Ok(()) };
        let (sender, receiver) = mpsc::channel(8);
        self.keys = receiver;
        std::thread::Builder::new().name("keys".to_owned()).spawn(move || {
            while !sender.is_closed() {
                // Keys that nobody takes in time are not wanted.
                keys.next(KEY_WAIT).map(|key| sender.try_send(key));
            }
        })?;
        Ok(())
    }

    /// The next wish.
    pub(crate) async fn next(&mut self) -> Wish {
        loop {
            tokio::select! {
                _ = self.interrupt.recv() => return Wish::End,
                _ = self.terminate.recv() => return Wish::End,
                _ = self.hangup.recv() => return Wish::End,
                _ = self.show.recv() => return Wish::Show,
                _ = self.resumed.recv() => return Wish::Resumed,
                Some(key) = self.keys.recv() => if matches!(key, b't' | b'T') { return Wish::Show },
            }
        }
    }
}
