//! Single keys while a run is shown.

use std::io;

use windlass_core::time::Span;

use super::terminal;
use super::tty::next_key;

/// The terminal hands over keys one by one while this lives; afterwards it is as it was.
#[derive(Debug)]
pub struct KeyInput {
    stdin: io::Stdin,
}

impl KeyInput {
    /// Listens, if standard input is a terminal and this process is in its foreground.
    pub fn listen() -> Option<Self> {
        terminal::enter_key_mode().then(|| Self { stdin: io::stdin() })
    }

    /// The next key, if one comes in time. Blocks the thread until then.
    pub fn next(&self, wait: Span) -> Option<u8> {
        next_key(&self.stdin, wait.as_millis())
    }
}

impl Drop for KeyInput {
    fn drop(&mut self) {
        terminal::restore_key_mode();
    }
}
