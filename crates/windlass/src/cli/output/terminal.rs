//! Writes a screen to the terminal, and leaves the terminal as it was, however the program ends.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::{io, panic};

use windlass_core::time::{Span, Time};

use super::look::Manner;
use super::painter::{Painter, erase_rows};
use super::screen::{Line, Screen, Sink};
use super::tty::{Modes, SIZE_DEFAULT, Size, size};

/// Between two pictures: 15 a second are smooth, and cost nothing.
const PICTURE: Span = Span::millis(66);
/// With so many bytes waiting the terminal is written to at once: a step that floods is slowed down by it, not kept.
const PENDING_MAX: usize = 64 * 1024;
/// How often the clock in the block moves.
const CLOCK: Span = Span::secs(1);

/// Rows of the block that is on the terminal, for who has to remove it from outside.
static ROWS: AtomicUsize = AtomicUsize::new(0);
/// How the terminal's keys were set before.
static KEYS: Mutex<Option<Modes>> = Mutex::new(None);
static HOOK: Once = Once::new();

/// Shows a [`Screen`].
#[derive(Debug)]
pub struct Terminal {
    manner: Manner,
    painter: Painter,
    drawn_at: Option<Time>,
}

impl Terminal {
    /// The terminal of this process. A panic restores it before it is told.
    pub fn new(manner: Manner) -> Self {
        HOOK.call_once(|| {
            let tell = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                restore();
                tell(info);
            }));
        });
        Self { manner, painter: Painter::default(), drawn_at: None }
    }

    /// Its size.
    pub fn size() -> Size {
        size().unwrap_or(SIZE_DEFAULT)
    }

    /// Shows what is new, and returns after what time to come again though nothing happens. An error says that nobody
    /// reads standard output any more.
    pub fn draw(&mut self, screen: &mut Screen, now: Time) -> io::Result<Span> {
        let age = self.drawn_at.map_or(PICTURE, |at| now.since(at));
        if age < PICTURE && screen.pending() < PENDING_MAX {
            return Ok(PICTURE.less(age));
        }
        self.draw_now(screen, now)?;
        Ok(if screen.wants_tick() { PICTURE } else { CLOCK })
    }

    /// Shows what is new at once, for the end of a run or an answer to a key.
    pub fn draw_now(&mut self, screen: &mut Screen, now: Time) -> io::Result<()> {
        self.drawn_at = Some(now);
        screen.tick(now);
        if self.manner != Manner::Live {
            return write_lines(self.manner, &screen.take());
        }
        let size = Self::size();
        screen.resize(size.columns);
        let block = screen.block(now, size.rows);
        self.forget_if_removed();
        let picture = self.painter.paint(&screen.take(), block, size.columns);
        ROWS.store(self.painter.rows(size.columns), Ordering::Relaxed);
        // A terminal that was closed is told to the program by a signal.
        drop(write_all(&mut io::stderr().lock(), picture.as_bytes()));
        Ok(())
    }

    /// The process was stopped and goes on: whoever had the terminal meanwhile wrote below the block, and set its keys.
    pub fn resumed(&mut self) {
        self.painter.forget();
        quiet_keys_again();
    }

    /// Removes the block.
    pub fn close(&mut self) {
        if self.manner == Manner::Live {
            self.forget_if_removed();
            let gone = self.painter.erase(Self::size().columns);
            ROWS.store(0, Ordering::Relaxed);
            drop(write_all(&mut io::stderr().lock(), gone.as_bytes()));
        }
    }

    /// After a panic the block is gone already, and what stands there is its message.
    fn forget_if_removed(&mut self) {
        if ROWS.load(Ordering::Relaxed) == 0 {
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
    let gone = erase_rows(ROWS.swap(0, Ordering::Relaxed));
    drop(write_all(&mut io::stderr(), gone.as_bytes()));
    loud_keys();
}

/// Has keys come one by one, and remembers how it was before.
pub(super) fn quiet_keys() -> bool {
    let mut before = KEYS.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(modes) = Modes::quiet() else {
        return false;
    };
    before.get_or_insert(modes);
    true
}

/// Has keys come one by one anew, if they did before.
fn quiet_keys_again() {
    let before = KEYS.lock().unwrap_or_else(PoisonError::into_inner);
    if before.is_some() {
        Modes::quiet();
    }
}

/// Sets the keys as they were.
pub(super) fn loud_keys() {
    if let Some(before) = KEYS.lock().unwrap_or_else(PoisonError::into_inner).take() {
        before.restore();
    }
}

/// Data and talk to where they belong, in order. GitHub reads its commands, and with them everything, on standard output.
fn write_lines(manner: Manner, lines: &[Line]) -> io::Result<()> {
    let sink = |line: &Line| if manner == Manner::GitHub { Sink::Data } else { line.sink };
    for run in lines.chunk_by(|one, next| sink(one) == sink(next)) {
        let text: String = run.iter().flat_map(|line| [&*line.text, "\n"]).collect();
        match sink(&run[0]) {
            Sink::Data => write_all(&mut io::stdout().lock(), text.as_bytes())?,
            Sink::Talk => drop(write_all(&mut io::stderr().lock(), text.as_bytes())),
        }
    }
    Ok(())
}

fn write_all(to: &mut impl io::Write, bytes: &[u8]) -> io::Result<()> {
    to.write_all(bytes)?;
    to.flush()
}
