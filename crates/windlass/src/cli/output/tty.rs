//! The terminal interface of the operating system. The only file here that differs between systems.

/// The size of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TerminalSize {
    /// Characters in a row.
    pub columns: usize,
    /// Rows.
    pub rows: usize,
}

/// The size if it is unknown.
pub(super) const SIZE_DEFAULT: TerminalSize = TerminalSize { columns: 80, rows: 24 };

#[cfg(unix)]
pub(super) use unix::{TerminalModes, next_key, size};

#[cfg(unix)]
mod unix {
    use std::io;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::termios::{
        LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcgetwinsize,
        tcsetattr,
    };

    use super::TerminalSize;

    /// The size of the terminal at standard error.
    pub(in super::super) fn size() -> Option<TerminalSize> {
        let size = tcgetwinsize(io::stderr()).ok()?;
        let known = size.ws_col > 0 && size.ws_row > 0;
        known.then(|| TerminalSize { columns: size.ws_col.into(), rows: size.ws_row.into() })
    }

    /// The saved modes of the terminal at standard input.
    #[derive(Clone, Debug)]
    pub(in super::super) struct TerminalModes(Termios);

    impl TerminalModes {
        /// Turns off line buffering and echo. Ctrl-C and similar keys still send signals, and output is unchanged.
        /// `None` without a terminal, or if this process is in the background, where the change would stop it.
        pub(in super::super) fn set_unbuffered() -> Option<Self> {
            let stdin = io::stdin();
            let foreground = tcgetpgrp(&stdin).ok()? == rustix::process::getpgrp();
            let before = tcgetattr(&stdin).ok().filter(|_| foreground)?;
            let mut quiet = before.clone();
            quiet.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
            quiet.special_codes[SpecialCodeIndex::VMIN] = 1;
            quiet.special_codes[SpecialCodeIndex::VTIME] = 0;
            tcsetattr(&stdin, OptionalActions::Now, &quiet).ok()?;
            Some(Self(before))
        }

        pub(in super::super) fn restore(&self) {
            // An error cannot be reported.
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
        }
    }

    /// The next key within this many milliseconds.
    pub(in super::super) fn next_key(stdin: &io::Stdin, wait_ms: u64) -> Option<u8> {
        let wait = Timespec {
            tv_sec: i64::try_from(wait_ms / 1000).ok()?,
            tv_nsec: i64::try_from(wait_ms % 1000 * 1_000_000).ok()?,
        };
        let mut asked = [PollFd::new(stdin, PollFlags::IN)];
        let ready = poll(&mut asked, Some(&wait)).ok()?;
        let mut key = [0];
        if ready > 0 && rustix::io::read(stdin, &mut key) == Ok(1) {
            return Some(key[0]);
        }
        // A closed terminal is always ready and has no data: a loop of calls must not spin.
        if ready > 0 {
            let _ = poll(&mut [], Some(&wait));
        }
        None
    }
}

#[cfg(not(unix))]
pub(super) use elsewhere::{TerminalModes, next_key, size};

#[cfg(not(unix))]
mod elsewhere {
    use super::TerminalSize;

    pub(in super::super) fn size() -> Option<TerminalSize> {
        None
    }

    #[derive(Clone, Debug)]
    pub(in super::super) struct TerminalModes;

    impl TerminalModes {
        pub(in super::super) fn set_unbuffered() -> Option<Self> {
            None
        }

        pub(in super::super) fn restore(&self) {}
    }

    pub(in super::super) fn next_key(_stdin: &std::io::Stdin, _wait_ms: u64) -> Option<u8> {
        None
    }
}
