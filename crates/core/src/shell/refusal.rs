//! Errors for `${{ }}` at an unsupported position, and how to fix them.

use std::ops::Range;

use crate::expr::{ExprError, Expression, code};

/// A position where a script cannot refer to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InterpolationRefusal {
    SingleQuotes,
    DollarQuotes,
    QuotedDocument,
    EndWord,
    Backticks,
    Parameter,
    Arithmetic,
    Subscript,
    Dollar,
    Lines,
    /// After syntax that dash and bash read differently.
    Ambiguous(&'static str),
    /// Unclosed syntax at the end of the script.
    Unclosed(&'static str),
    Depth,
}

impl InterpolationRefusal {
    /// The error for the expression at `range` of the script.
    pub(super) fn error(self, range: Range<usize>, expression: &Expression) -> ExprError {
        let what = self.sentence();
        ExprError::new(code::SPLICE, range, what).help(self.help(expression))
    }

    fn sentence(self) -> String {
        let fixed = match self {
            Self::SingleQuotes => "sh does not expand variables between single quotes",
            Self::DollarQuotes => "sh does not expand variables between $' and '",
            Self::QuotedDocument => {
                "sh does not expand variables in a here-document with a quoted delimiter"
            }
            Self::EndWord => "the delimiter of a here-document cannot be a value",
            Self::Backticks => "sh reads quotes differently between backticks",
            Self::Parameter => "sh would read the value as a pattern or as code inside ${ }",
            Self::Arithmetic => "the shell would evaluate the value as arithmetic inside (( ))",
            Self::Subscript => {
                "bash would evaluate the value as arithmetic inside [ ] after a name"
            }
            Self::Dollar => "sh reads the `$` before `${{` together with it",
            Self::Lines => "an expression in a script must be on one line",
            Self::Depth => "the script is nested too deeply to analyse its quotes",
            Self::Ambiguous(what) => {
                return format!("dash and bash read {what} before this differently");
            }
            Self::Unclosed(what) => {
                return format!(
                    "{what} is unclosed at the end, so it is unclear which parts are quoted"
                );
            }
        };
        fixed.to_owned()
    }

    fn help(self, expression: &Expression) -> String {
        match self {
            Self::Backticks => "write $( ) instead of backticks".to_owned(),
            Self::Dollar => format!("write \\$${{{{ {expression} }}}} for a literal dollar sign"),
            Self::Lines => "join the lines".to_owned(),
            Self::Unclosed(_) => "close it, or quote a # or ' in a word".to_owned(),
            Self::SingleQuotes
            | Self::DollarQuotes
            | Self::QuotedDocument
            | Self::EndWord
            | Self::Parameter
            | Self::Arithmetic
            | Self::Subscript
            | Self::Ambiguous(_)
            | Self::Depth => env_form(expression),
        }
    }
}

/// Suggests a variable of the step, which works everywhere.
fn env_form(expression: &Expression) -> String {
    let text = expression.text();
    let quoted = if text.contains(['"', '\\']) {
        format!("'${{{{ {} }}}}'", text.replace('\'', "''"))
    } else {
        format!("\"${{{{ {text} }}}}\"")
    };
    let name = variable_name(expression);
    format!("add a variable to the step, env: {{ {name}: {quoted} }}, and use \"${name}\"")
}

/// Derives a variable name from the last name of the path.
fn variable_name(expression: &Expression) -> String {
    let paths = expression.paths();
    let last = paths.first().and_then(|read| read.path.last());
    last.map_or("VALUE".to_owned(), |name| name.to_ascii_uppercase().replace('-', "_"))
}
