//! The only code that prints: data to standard output, messages to standard error.
//!
//! The view of a run has three layers. [`Screen`] is pure: events, output and time in, lines out. [`LiveRegion`] is
//! also pure: it turns lines and the pinned block into terminal bytes. [`Terminal`] writes them, tracks the size, and
//! restores the terminal.
//!
//! | file | contents |
//! |---|---|
//! | `terminal_caps`, `color`, `glyphs` | terminal capabilities; colors and glyphs with a meaning |
//! | `span_text`, `size_text`, `text_width`, `table` | durations, sizes, columns, tables |
//! | `line_splitter`, `output_buffer`, `step_output`, `open_group` | output of steps: sanitized, split into lines, buffered or shown |
//! | `screen`, `pinned_block`, `step_line` | a running run |
//! | `live_region`, `terminal`, `tty`, `key_input` | terminal input and output |
//! | `final_report`, `failure`, `test_results`, `command_hints`, `steps_table` | a run that has ended |
//! | `escape_control` | escaping of untrusted names and messages |
//! | `program_name` | commands with the name of another program |
//! | `live_status`, `why_phrase` | running steps, and waiting ones; why a step waits |
//! | `process_log`, `process_log_layer` | records of long-running processes; their lines, as text or objects |
//! | `github`, `junit` | reports for GitHub and `JUnit` readers |

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
mod process_log_layer;
mod program_name;
mod screen;
mod size_text;
mod span_text;
mod step_line;
mod step_output;
mod steps_table;
mod table;
mod terminal;
mod terminal_caps;
mod test_results;
#[cfg(test)]
mod tests;
mod text_width;
mod tty;
mod why_phrase;

pub(crate) use color::ColorRole;
pub(crate) use command_hints::{CommandHints, quoted};
pub(crate) use final_report::{EndedRun, LogTailReader, ending};
pub(crate) use github::{annotations, markdown, tests_markdown};
pub(crate) use junit::junit;
pub(crate) use key_input::KeyInput;
pub(crate) use line_splitter::{LineSplitter, sanitize_lines, sanitize_phrase};
pub(crate) use live_status::live_status;
pub(super) use print::{
    print_bytes, print_data, print_event, print_json_lines, print_message, stdout_is_terminal,
};
pub(super) use process_log::{LogFields, LogFormat, LogLevel, LogRecord, log_banner};
pub(super) use process_log_layer::ProcessLogLayer;
pub(super) use program_name::{set_program_name, with_program_name};
pub(crate) use screen::{Screen, ScreenOptions};
pub(crate) use size_text::size_text;
pub(crate) use span_text::span_text;
pub(crate) use step_output::OutputMode;
pub(crate) use table::{ColumnAlign, TextTable};
pub(crate) use terminal::Terminal;
pub(crate) use terminal_caps::{ColorMode, DisplayKind, GlyphSet, TerminalCaps};
pub(crate) use text_width::columns;
pub(crate) use why_phrase::why_phrase;
