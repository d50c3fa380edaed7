//! Writes a screen to the terminal, and leaves the terminal as it was, however the program ends.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::{io, panic};

use windlass_core::time::{Span, Time};

use super::live_region::{LiveRegion, erase_rows};
use super::screen::{OutputStream, Screen, ScreenLine};
use super::terminal_caps::DisplayKind;
use super::tty::{SIZE_DEFAULT, TerminalModes, TerminalSize, size};

/// Between two pictures: 15 a second are smooth, and cost nothing.
const FRAME_INTERVAL: Span = Span::millis(66);
/// With so many bytes waiting the terminal is written to at once: a step that floods is slowed down by it, not kept.
const PENDING_MAX: usize = 64 * 1024;
/// How often the clock in the block moves.
const CLOCK_INTERVAL: Span = Span::secs(1);

/// Rows of the block that is on the terminal, for who has to remove it from outside.
static BLOCK_ROWS: AtomicUsize = AtomicUsize::new(0);
/// How the terminal's keys were set before.
static SAVED_KEY_MODES: Mutex<Option<TerminalModes>> = Mutex::new(None);
static PANIC_HOOK: Once = Once::new();

/// Shows a [`Screen`].
#[derive(Debug)]
pub struct Terminal {
    display: DisplayKind,
    painter: LiveRegion,
    drawn_at: Option<Time>,
}

impl Terminal {
    /// The terminal of this process. A panic restores it before it is told.
    pub fn new(display: DisplayKind) -> Self {
        PANIC_HOOK.call_once(|| {
            let tell = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                restore();
                tell(info);
            }));
        });
        Self { display, painter: LiveRegion::default(), drawn_at: None }
    }

    /// Its size.
    pub fn size() -> TerminalSize {
        size().unwrap_or(SIZE_DEFAULT)
    }

    /// Shows what is new, and returns after what time to come again though nothing happens. An error says that nobody
    /// reads standard output any more.
    pub fn draw(&mut self, screen: &mut Screen, now: Time) -> io::Result<Span> {
        let age = self.drawn_at.map_or(FRAME_INTERVAL, |at| now.since(at));
        if age < FRAME_INTERVAL && screen.pending() < PENDING_MAX {
            return Ok(FRAME_INTERVAL.saturating_sub(age));
        }
        self.draw_now(screen, now)?;
        Ok(if screen.wants_tick() { FRAME_INTERVAL } else { CLOCK_INTERVAL })
    }

    /// Shows what is new at once, for the end of a run or an answer to a key.
    pub fn draw_now(&mut self, screen: &mut Screen, now: Time) -> io::Result<()> {
        self.drawn_at = Some(now);
        screen.tick(now);
        if self.display != DisplayKind::Live {
            return write_lines(self.display, &screen.take());
        }
        let size = Self::size();
        screen.resize(size.columns);
        let block = screen.block(now, size.rows);
        self.forget_if_removed();
        let picture = self.painter.paint(&screen.take(), block, size.columns);
        BLOCK_ROWS.store(self.painter.rows(size.columns), Ordering::Relaxed);
        // A terminal that was closed is told to the program by a signal.
        drop(write_all(&mut io::stderr().lock(), picture.as_bytes()));
        Ok(())
    }

    /// The process was stopped and goes on: whoever had the terminal meanwhile wrote below the block, and set its keys.
    pub fn resumed(&mut self) {
        self.painter.forget();
        reenter_key_mode();
    }

    /// Removes the block.
    pub fn close(&mut self) {
        if self.display == DisplayKind::Live {
            self.forget_if_removed();
            let gone = self.painter.erase(Self::size().columns);
            BLOCK_ROWS.store(0, Ordering::Relaxed);
            drop(write_all(&mut io::stderr().lock(), gone.as_bytes()));
        }
    }

    /// After a panic the block is gone already, and what stands there is its message.
    fn forget_if_removed(&mut self) {
        if BLOCK_ROWS.load(Ordering::Relaxed) == 0 {
            self.painter.forget();
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.close();
    }
}

/// Removes the block, shows the cursor and sets the keys as they were. May be called at any time, by anybody.
pub fn restore() {
    let gone = erase_rows(BLOCK_ROWS.swap(0, Ordering::Relaxed));
    drop(write_all(&mut io::stderr(), gone.as_bytes()));
    restore_key_mode();
}

/// Has keys come one by one, and remembers how it was before.
pub(super) fn enter_key_mode() -> bool {
    let mut before = SAVED_KEY_MODES.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(modes) = TerminalModes::set_unbuffered() else {
        return false;
    };
    before.get_or_insert(modes);
    true
}

/// Has keys come one by one anew, if they did before.
fn reenter_key_mode() {
    let before = SAVED_KEY_MODES.lock().unwrap_or_else(PoisonError::into_inner);
    if before.is_some() {
        TerminalModes::set_unbuffered();
    }
}

/// Sets the keys as they were.
pub(super) fn restore_key_mode() {
    if let Some(before) = SAVED_KEY_MODES.lock().unwrap_or_else(PoisonError::into_inner).take() {
        before.restore();
    }
}

/// Data and talk to where they belong, in order. GitHub reads its commands, and with them everything, on standard output.
fn write_lines(manner: DisplayKind, lines: &[ScreenLine]) -> io::Result<()> {
    let sink = |line: &ScreenLine| {
        if manner == DisplayKind::GitHub { OutputStream::Stdout } else { line.stream }
    };
    for run in lines.chunk_by(|one, next| sink(one) == sink(next)) {
        let text: String = run.iter().flat_map(|line| [&*line.text, "\n"]).collect();
        match sink(&run[0]) {
            OutputStream::Stdout => write_all(&mut io::stdout().lock(), text.as_bytes())?,
            OutputStream::Stderr => drop(write_all(&mut io::stderr().lock(), text.as_bytes())),
        }
    }
    Ok(())
}

fn write_all(to: &mut impl io::Write, bytes: &[u8]) -> io::Result<()> {
    to.write_all(bytes)?;
    to.flush()
}
