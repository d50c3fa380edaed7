//! Prints data to standard output and messages to standard error.

use std::io::{self, ErrorKind, IsTerminal as _, Write as _};

use windlass_core::engine::Event;
use windlass_core::plan::Plan;
use windlass_core::time::Time;
use windlass_store::journal::Position;

use super::escape_control::escape_control_chars;
use crate::cli::exit;

/// Prints requested data and returns the exit code for the write.
///
/// A reader that closes the pipe has seen enough, so that counts as success. A program receives the text unchanged;
/// for a terminal, control sequences except colors are escaped.
pub(in crate::cli) fn print_data(text: &str) -> u8 {
    let mut stdout = io::stdout().lock();
    let text = if stdout.is_terminal() { escape_control_chars(text) } else { text.into() };
    match writeln!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Ok(()) => exit::SUCCESS,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => exit::SUCCESS,
        Err(error) => {
            print_message(&format!("windlass: failed to write to standard output: {error}"));
            exit::OUTPUT
        }
    }
}

/// Prints bytes unchanged; returns whether the output still has a reader. A closed pipe is no error.
pub(in crate::cli) fn print_bytes(bytes: &[u8]) -> bool {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).is_ok()
}

/// Whether standard output is a terminal, which interprets control sequences.
pub(in crate::cli) fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Prints one object per line.
pub(in crate::cli) fn print_json_lines(objects: &[serde_json::Value]) -> u8 {
    let lines: Vec<String> = objects.iter().map(ToString::to_string).collect();
    if lines.is_empty() { exit::SUCCESS } else { print_data(&lines.join("\n")) }
}

/// Prints an event of a run in its common form, with the name of its step: the reader of the stream has no plan.
pub(in crate::cli) fn print_event(
    plan: &Plan,
    (position, at): (Position, Time),
    event: &Event,
) -> u8 {
    let mut object = event.to_json(position.0, at);
    if let Some(step) = event.step() {
        object["name"] = plan.name(step).into();
    }
    print_data(&object.to_string())
}

/// Prints a message to standard error. Errors are ignored: without standard error, they cannot be reported.
pub(in crate::cli) fn print_message(text: &str) {
    drop(writeln!(io::stderr(), "{}", escape_control_chars(text)));
}
