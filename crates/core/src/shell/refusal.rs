//! Why `${{ }}` cannot stand somewhere, and what to write instead.

use std::ops::Range;

use crate::expr::{ExprError, Expression, code};

/// A place where a value cannot be referred to.
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
    /// Something that dash and bash read differently comes before.
    Ambiguous(&'static str),
    /// Something is open at the end of the script.
    Unclosed(&'static str),
    Depth,
}

impl InterpolationRefusal {
    /// What is wrong with the expression at `range` of the script.
    pub(super) fn error(self, range: Range<usize>, expression: &Expression) -> ExprError {
        let what = self.sentence();
        ExprError::new(code::SPLICE, range, what).help(self.help(expression))
    }

    fn sentence(self) -> String {
        let fixed = match self {
            Self::SingleQuotes => "sh does not look for values between single quotes",
            Self::DollarQuotes => "sh does not look for values between $' and '",
            Self::QuotedDocument => {
                "sh does not look for values in a here-document whose end word is quoted"
            }
            Self::EndWord => "the end word of a here-document cannot be a value",
            Self::Backticks => "between backticks sh reads quotes differently",
            Self::Parameter => "inside ${ } sh would read the value as a pattern or as code",
            Self::Arithmetic => "inside (( )) the shell would compute the value as a formula",
            Self::Subscript => "inside [ ] after a name bash would compute the value as a formula",
            Self::Dollar => "sh reads the `$` before `${{` together with it",
            Self::Lines => "in a script an expression must be on one line",
            Self::Depth => "the script is nested too deep to follow its quotes",
            Self::Ambiguous(what) => {
                return format!("dash and bash disagree about {what}, which comes before this");
            }
            Self::Unclosed(what) => {
                return format!("{what} is open at the end, so it is unclear what is quoted");
            }
        };
        fixed.to_owned()
    }

    fn help(self, expression: &Expression) -> String {
        match self {
            Self::Backticks => "write $( ) instead of backticks".to_owned(),
            Self::Dollar => format!("for a dollar sign write \\$${{{{ {expression} }}}}"),
            Self::Lines => "join the lines".to_owned(),
            Self::Unclosed(_) => {
                "close it; a # or ' in plain words may have to be quoted".to_owned()
            }
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

/// The way that works everywhere: the value as a variable of the step.
fn env_form(expression: &Expression) -> String {
    let text = expression.text();
    let quoted = if text.contains(['"', '\\']) {
        format!("'${{{{ {} }}}}'", text.replace('\'', "''"))
    } else {
        format!("\"${{{{ {text} }}}}\"")
    };
    let name = variable_name(expression);
    format!("give the step a variable, env: {{ {name}: {quoted} }}, and use \"${name}\"")
}

/// A good name for the variable: the last name of the path, as variables are written.
fn variable_name(expression: &Expression) -> String {
    let paths = expression.paths();
    let last = paths.first().and_then(|read| read.path.last());
    last.map_or("VALUE".to_owned(), |name| name.to_ascii_uppercase().replace('-', "_"))
}
