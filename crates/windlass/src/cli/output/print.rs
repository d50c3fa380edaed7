//! Prints: data to standard output, talk to standard error.

use std::io::{self, ErrorKind, IsTerminal as _, Write as _};

use windlass_core::engine::Event;
use windlass_core::plan::Plan;
use windlass_core::time::Time;

use super::escape_control::escape_control_chars;
use crate::cli::exit;
use crate::journal::Position;

/// Prints what the user asked for and returns the exit code that tells whether it arrived.
///
/// A reader that has closed the pipe has seen enough, so that is a success. A program gets the text as it is; a terminal
/// obeys nothing in it but colours.
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

/// Prints bytes as they are; whether anybody still reads. Who has closed the pipe has seen enough.
pub(in crate::cli) fn print_bytes(bytes: &[u8]) -> bool {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).is_ok()
}

/// Whether data goes to a terminal, which obeys what is printed.
pub(in crate::cli) fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Prints objects, one a line.
pub(in crate::cli) fn print_json_lines(objects: &[serde_json::Value]) -> u8 {
    let lines: Vec<String> = objects.iter().map(ToString::to_string).collect();
    if lines.is_empty() { exit::SUCCESS } else { print_data(&lines.join("\n")) }
}

/// Prints an event of a run as everybody shows it, and the name of its step: who reads along has no plan.
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

/// Tells the user something that is not the answer. Nobody is left to tell where standard error is closed.
pub(in crate::cli) fn print_message(text: &str) {
    drop(writeln!(io::stderr(), "{}", escape_control_chars(text)));
}
