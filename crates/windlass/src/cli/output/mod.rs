//! The only place that prints: data goes to standard output, talk to standard error.
//!
//! What people see of a run is made in three layers. [`Screen`] is pure: events, output and time in, lines out.
//! [`Painter`] is pure too: it turns lines and the pinned block into what a terminal is sent. [`Terminal`] writes it,
//! knows the size, and leaves everything as it found it.
//!
//! | file | what it shows |
//! |---|---|
//! | `look`, `ink`, `marks` | what the reader's terminal can do; colours and signs with a meaning |
//! | `span_text`, `width`, `table` | durations, columns, tables |
//! | `lines`, `kept`, `voices`, `floor` | what steps print: made harmless, cut into lines, held back or shown |
//! | `screen`, `block`, `step_line` | a run while it runs |
//! | `painter`, `terminal`, `tty`, `keys` | getting it onto the terminal |
//! | `ending`, `failure`, `hints`, `steps_table` | a run that has ended |
//! | `visible` | names and messages of others, which no terminal obeys |
//! | `name` | commands as those of somebody's own program |
//! | `moment` | what runs now and what waits for what |
//! | `log` | what processes that stay say, in lines or objects |
//! | `github`, `junit` | the same for machines that show it to people |

mod block;
mod ending;
mod failure;
mod floor;
mod github;
mod hints;
mod ink;
mod junit;
mod kept;
mod keys;
mod lines;
mod log;
mod look;
mod marks;
mod moment;
mod name;
mod painter;
mod print;
mod screen;
mod span_text;
mod step_line;
mod steps_table;
mod table;
mod terminal;
#[cfg(test)]
mod tests;
mod tty;
mod visible;
mod voices;
mod width;

pub use ending::{Logs, ending};
pub use github::{annotations, markdown};
pub use hints::{Hints, quoted};
pub use ink::Ink;
pub use junit::junit;
pub use keys::Keys;
pub use lines::{Lines, plain};
pub(super) use log::{About, Level, LogFormat, Logger, Said};
pub use look::{Colour, Look, Manner, Signs};
pub use moment::{moment, why_phrase};
pub(super) use name::{go_by, named};
pub use painter::Painter;
pub(super) use print::{bytes, data, data_is_seen, event, objects, talk};
pub use screen::{Line, Screen, ScreenOptions, Sink};
pub use span_text::span_text;
pub use table::{Align, Table};
pub use terminal::{Terminal, restore};
pub use tty::Size;
pub use voices::OutputMode;
pub use width::{columns, fit, flow, pad};
