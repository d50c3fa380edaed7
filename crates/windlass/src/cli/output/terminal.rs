//! Writes a screen to the terminal, and restores the terminal however the program ends.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::{io, panic};

use windlass_core::time::{Span, Time};

use super::live_region::{LiveRegion, erase_rows};
use super::screen::{OutputStream, Screen, ScreenLine};
use super::terminal_caps::DisplayKind;
use super::tty::{SIZE_DEFAULT, TerminalModes, TerminalSize, size};

/// The pause between two frames: 15 per second are smooth and cheap.
const FRAME_INTERVAL: Span = Span::millis(66);
/// With this many pending bytes the terminal is written immediately, which slows down a step that floods.
const PENDING_MAX: usize = 64 * 1024;
/// How often the clock in the block changes.
const CLOCK_INTERVAL: Span = Span::secs(1);

/// Rows of the drawn block, for a panic hook or exit that removes it.
static BLOCK_ROWS: AtomicUsize = AtomicUsize::new(0);
/// The terminal modes before key input.
static SAVED_KEY_MODES: Mutex<Option<TerminalModes>> = Mutex::new(None);
static PANIC_HOOK: Once = Once::new();

/// Shows a [`Screen`].
#[derive(Debug)]
pub(crate) struct Terminal {
    display: DisplayKind,
    painter: LiveRegion,
    drawn_at: Option<Time>,
}

impl Terminal {
    /// The terminal of this process. A panic restores it before the message is printed.
    pub(crate) fn new(display: DisplayKind) -> Self {
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
    pub(crate) fn size() -> TerminalSize {
        size().unwrap_or(SIZE_DEFAULT)
    }

    /// Shows new lines, and returns the time until the next draw. An error means that standard output has no reader
    /// any more.
    pub(crate) fn draw(&mut self, screen: &mut Screen, now: Time) -> io::Result<Span> {
        let age = self.drawn_at.map_or(FRAME_INTERVAL, |at| now.since(at));
        if age < FRAME_INTERVAL && screen.pending() < PENDING_MAX {
            return Ok(FRAME_INTERVAL.saturating_sub(age));
        }
        self.draw_now(screen, now)?;
        Ok(if screen.wants_tick() { FRAME_INTERVAL } else { CLOCK_INTERVAL })
    }

    /// Shows new lines immediately, at the end of a run or after a key.
    pub(crate) fn draw_now(&mut self, screen: &mut Screen, now: Time) -> io::Result<()> {
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
        // A closed terminal sends SIGHUP, so an error here needs no report.
        drop(write_all(&mut io::stderr().lock(), picture.as_bytes()));
        Ok(())
    }

    /// After a stop and continue: another program may have written below the block and changed the terminal modes.
    pub(crate) fn resumed(&mut self) {
        self.painter.forget();
        reenter_key_mode();
    }

    /// Removes the block.
    pub(crate) fn close(&mut self) {
        if self.display == DisplayKind::Live {
            self.forget_if_removed();
            let gone = self.painter.erase(Self::size().columns);
            BLOCK_ROWS.store(0, Ordering::Relaxed);
            drop(write_all(&mut io::stderr().lock(), gone.as_bytes()));
        }
    }

    /// After a panic the block is already removed, and the panic message is in its lines.
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

/// Removes the block, shows the cursor and restores the terminal modes. Can be called at any time, from any thread.
pub(crate) fn restore() {
    let gone = erase_rows(BLOCK_ROWS.swap(0, Ordering::Relaxed));
    drop(write_all(&mut io::stderr(), gone.as_bytes()));
    restore_key_mode();
}

/// Switches to single-key input, and saves the earlier modes.
pub(super) fn enter_key_mode() -> bool {
    let mut before = SAVED_KEY_MODES.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(modes) = TerminalModes::set_unbuffered() else {
        return false;
    };
    before.get_or_insert(modes);
    true
}

/// Switches to single-key input again, if it was on.
fn reenter_key_mode() {
    let before = SAVED_KEY_MODES.lock().unwrap_or_else(PoisonError::into_inner);
    if before.is_some() {
        TerminalModes::set_unbuffered();
    }
}

/// Restores the saved modes.
pub(super) fn restore_key_mode() {
    if let Some(before) = SAVED_KEY_MODES.lock().unwrap_or_else(PoisonError::into_inner).take() {
        before.restore();
    }
}

/// Writes data and messages to their streams, in order. GitHub reads its workflow commands on standard output, so
/// everything goes there.
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
