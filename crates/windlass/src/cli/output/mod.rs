//! The only place that prints: data goes to standard output, talk to standard error.
//!
//! What people see of a run is made in three layers. [`Screen`] is pure: events, output and time in, lines out.
//! [`LiveRegion`] is pure too: it turns lines and the pinned block into what a terminal is sent. [`Terminal`] writes it,
//! knows the size, and leaves everything as it found it.
//!
//! | file | what it shows |
//! |---|---|
//! | `terminal_caps`, `color`, `glyphs` | what the reader's terminal can do; colours and signs with a meaning |
//! | `span_text`, `text_width`, `table` | durations, columns, tables |
//! | `line_splitter`, `output_buffer`, `step_output`, `open_group` | what steps print: made harmless, cut into lines, held back or shown |
//! | `screen`, `pinned_block`, `step_line` | a run while it runs |
//! | `live_region`, `terminal`, `tty`, `key_input` | getting it onto the terminal |
//! | `final_report`, `failure`, `command_hints`, `steps_table` | a run that has ended |
//! | `escape_control` | names and messages of others, which no terminal obeys |
//! | `program_name` | commands as those of somebody's own program |
//! | `live_status` | what runs now and what waits for what |
//! | `process_log` | what processes that stay say, in lines or objects |
//! | `github`, `junit` | the same for machines that show it to people |

mod color;
mod command_hints;
mod escape_control;
mod failure;
mod final_report;
mod github;
mod glyphs;
mod junit;
mod key_input;
mod line_splitter;
mod live_region;
mod live_status;
mod open_group;
mod output_buffer;
mod pinned_block;
mod print;
mod process_log;
mod program_name;
mod screen;
mod span_text;
mod step_line;
mod step_output;
mod steps_table;
mod table;
mod terminal;
mod terminal_caps;
#[cfg(test)]
mod tests;
mod text_width;
mod tty;

pub use color::ColorRole;
pub use command_hints::{CommandHints, quoted};
pub use final_report::{LogTailReader, ending};
pub use github::{annotations, markdown};
pub use junit::junit;
pub use key_input::KeyInput;
pub use line_splitter::{LineSplitter, sanitize_lines};
pub use live_region::LiveRegion;
pub use live_status::{live_status, why_phrase};
pub(super) use print::{
    print_bytes, print_data, print_event, print_json_lines, print_message, stdout_is_terminal,
};
pub(super) use process_log::{LogFields, LogFormat, LogLevel, LogRecord, Logger};
pub(super) use program_name::{set_program_name, with_program_name};
pub use screen::{OutputStream, Screen, ScreenLine, ScreenOptions};
pub use span_text::span_text;
pub use step_output::OutputMode;
pub use table::{ColumnAlign, TextTable};
pub use terminal::{Terminal, restore};
pub use terminal_caps::{ColorMode, DisplayKind, GlyphSet, TerminalCaps};
pub use text_width::{columns, fit, flow, pad};
pub use tty::TerminalSize;
