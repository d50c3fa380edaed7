//! `run`: passes values to a script without inserting them into its text, and detects commands that need no shell.
//!
//! [`parse_script`] reads a script as sh does and replaces every `${{ }}` by a reference to an exported variable, quoted so
//! that sh passes any value on as one literal string:
//!
//! | position | replacement |
//! |---|---|
//! | unquoted: a word or a part of one, also in `$( )` and `( )` | `"${W1}"` |
//! | between double quotes, in the body of a here-document | `${W1}` |
//! | in a comment | unchanged, not an expression |
//! | after a backslash: `\${{` | unchanged: sh prints it |
//! | between single quotes or `$' '`, in a here-document with a quoted delimiter | refused: sh expands nothing there |
//! | in `${ }`, `$(( ))`, `(( ))`, a subscript, a here-document's delimiter | refused: sh would read the value as code |
//! | in backticks, after `$` | refused: sh reads quotes and dollars differently there |
//! | after syntax that dash and bash read differently | refused: the quoting is ambiguous |
//!
//! A refusal suggests the `env:` form, which always works. Commands may still execute their arguments: `eval`,
//! `sh -c "…"` and `[[ x -eq y ]]` do so with values from `${{ }}` as from any other variable.
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
