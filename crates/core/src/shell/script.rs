//! Replaces every `${{ }}` of a script by a variable.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::interpolation::ScriptInterpolation;
use super::lexer::interpolations;
use crate::expr::{ExprError, Expression, code};

/// A script for sh and the variables that it reads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ShellScript {
    /// The text for sh.
    pub text: String,
    /// The exported variables with their expressions.
    pub vars: Vec<(String, Expression)>,
}

/// The quoting of a variable reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReferenceQuoting {
    /// With its own quotes.
    Bare,
    /// Inside quotes, or where quotes would be literal.
    Quoted,
}

impl ReferenceQuoting {
    fn reference(self, name: &str) -> String {
        match self {
            Self::Bare => format!("\"${{{name}}}\""),
            Self::Quoted => format!("${{{name}}}"),
        }
    }
}

/// Maximum values in one script; each takes an environment variable.
const VALUES_MAX: usize = 256;

/// Parses the text of a `run` for sh, dash or bash.
pub fn parse_script(text: &str) -> Result<ShellScript, ExprError> {
    let holes = interpolations(text)?;
    let mut free = free_names(text);
    let mut script = ShellScript { text: String::with_capacity(text.len()), vars: Vec::new() };
    let mut at = 0;
    for hole in holes {
        script.text.push_str(&text[at..hole.range.start]);
        at = hole.range.end;
        let form = hole.form;
        let name = script.variable(hole, &mut free)?;
        script.text.push_str(&form.reference(&name));
    }
    script.text.push_str(&text[at..]);
    Ok(script)
}

impl ShellScript {
    /// Returns the variable of an expression; creates it if needed.
    fn variable(
        &mut self,
        hole: ScriptInterpolation,
        free: &mut impl Iterator<Item = String>,
    ) -> Result<String, ExprError> {
        if let Some((name, _)) = self.vars.iter().find(|(_, known)| *known == hole.expression) {
            return Ok(name.clone());
        }
        if self.vars.len() == VALUES_MAX {
            let what = format!("a script can have at most {VALUES_MAX} values");
            return Err(ExprError::new(code::SPLICE, hole.range, what)
                .help("write the values to a file in another step"));
        }
        let name = free.next().expect("there is always a greater number");
        self.vars.push((name.clone(), hole.expression));
        Ok(name)
    }
}

/// Returns `W1`, `W2`, … without the names that the text already contains.
fn free_names(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let taken: BTreeSet<String> =
        words.filter(|word| word.starts_with('W')).map(str::to_owned).collect();
    (1_u64..).map(|n| format!("W{n}")).filter(move |name| !taken.contains(name))
}
