//! Single key presses while a run is shown.

use std::io;

use windlass_core::time::Span;

use super::terminal;
use super::tty::next_key;

/// Puts the terminal in single-key mode; dropping it restores the terminal.
#[derive(Debug)]
pub(crate) struct KeyInput {
    stdin: io::Stdin,
}

impl KeyInput {
    /// Listens, if standard input is a terminal and this process is in its foreground.
    pub(crate) fn listen() -> Option<Self> {
        terminal::enter_key_mode().then(|| Self { stdin: io::stdin() })
    }

    /// The next key within the wait. Blocks the thread.
    pub(crate) fn next(&self, wait: Span) -> Option<u8> {
        next_key(&self.stdin, wait.as_millis())
    }
}

impl Drop for KeyInput {
    fn drop(&mut self) {
        terminal::restore_key_mode();
    }
}
