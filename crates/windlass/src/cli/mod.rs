//! The command line: arguments in, text out, an exit code at the end.
//!
//! `args` only parses, `output` alone prints, `exit` names every exit code.

mod args;
mod dispatch;
mod exit;
mod output;

pub use dispatch::run;
