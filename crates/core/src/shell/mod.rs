//! `run`: how values come into a script without ever being part of its text, and when no shell is needed at all.
//!
//! [`parse_script`] reads a script as sh does and turns every `${{ }}` into a reference to an exported variable, written such
//! that sh hands the value on as one literal piece, whatever is in it:
//!
//! | where it stands | what is written |
//! |---|---|
//! | bare: a word or a part of one, also in `$( )` and `( )` | `"${W1}"` |
//! | between double quotes, in the body of a here-document | `${W1}` |
//! | in a comment | it is left alone, and is no expression |
//! | after a backslash: `\${{` | it is left alone: sh prints it |
//! | between single quotes or `$' '`, in a here-document with a quoted end word | refused: nothing is expanded there |
//! | in `${ }`, `$(( ))`, `(( ))`, a subscript, a here-document's end word | refused: the value would be read as code |
//! | in backticks, after `$` | refused: quotes and dollars mean something else there |
//! | behind something that dash and bash read differently | refused: no single answer is right |
//!
//! A refusal shows the `env:` form, which always works. What a command does with its arguments is beyond this: `eval`,
//! `sh -c "…"` and `[[ x -eq y ]]` run what they are given, from `${{ }}` as from any other variable.
//!
//! [`direct_command`] recognizes a command that needs no shell, which saves a process and its start.

mod direct_command;
mod frame;
mod here_document;
mod interpolation;
mod lexer;
mod refusal;
mod script;

pub use direct_command::direct_command;
pub use script::{ShellScript, parse_script};
