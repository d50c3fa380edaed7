//! Noise: no input causes a panic, and every reported position is in the text.

use serde_json::json;
use windlass_core::expr::{ExprError, ExprScope, Expression, IfCondition, Template};
use windlass_core::requirement::Requirement;
use windlass_core::shell::{direct_command, parse_script};

const ROUNDS: u64 = 20_000;
const TOKENS: &[&str] = &[
    "a",
    "params.x",
    "steps.a-b.outputs.c",
    "\"",
    "'",
    "${{",
    "}}",
    "${{ a }}",
    "${{ params.x }}",
    " ",
    " ",
    "\n",
    "\t",
    "\\",
    "$",
    "{",
    "}",
    "(",
    ")",
    "((",
    "))",
    "$(",
    "$((",
    "${",
    "`",
    "<<",
    "<<-",
    "<<<",
    "EOF",
    "'EOF'",
    "\nEOF\n",
    "#",
    ";",
    "&",
    "&&",
    "|",
    "||",
    "!",
    "!=",
    "==",
    "=",
    "<",
    ">=",
    "in",
    "not ",
    "and",
    "or",
    "case ",
    "esac",
    "[",
    "]",
    ",",
    ".",
    "-",
    "1",
    "3.10",
    "99999999999999999999",
    "true",
    "null",
    "success()",
    "always()",
    "default(",
    "é",
    "\u{201c}",
    "🦀",
    "\u{0}",
    "\r",
    "$'",
    "W1",
    "GiB",
    "mem>=8",
    "if ",
    "%",
    "*",
    "~",
];

/// A small generator of random numbers (`SplitMix64`), which always gives the same noise.
pub(crate) struct NoiseRng(pub(crate) u64);

impl NoiseRng {
    pub(crate) fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % below as u64).expect("below a usize")
    }

    pub(crate) fn text(&mut self) -> String {
        let tokens = 1 + self.next(24);
        (0..tokens).map(|_| TOKENS[self.next(TOKENS.len())]).collect()
    }
}

/// Returns the value; on an error, checks its position and returns `None`.
fn checked<T>(text: &str, result: Result<T, ExprError>) -> Option<T> {
    let error = match result {
        Ok(value) => return Some(value),
        Err(error) => error,
    };
    assert!(text.get(error.range.clone()).is_some(), "{error:?} is outside of {text:?}");
    assert!(!error.message.is_empty());
    None
}

#[test]
fn noise_is_read_without_panic() {
    let scope =
        ExprScope::default().with("params", json!({"x": "1"})).with("a", json!([1, "b", null]));
    let mut accepted = [0; 5];
    for seed in 0..ROUNDS {
        let text = &NoiseRng(seed).text();
        if let Some(expression) = checked(text, Expression::parse(text)) {
            accepted[0] += 1;
            checked(text, expression.evaluate(&scope));
            checked(text, expression.render(&scope));
            for read in expression.paths() {
                assert_eq!(text[read.range].replace(' ', ""), read.path.join("."));
            }
        }
        if let Some(condition) = checked(text, IfCondition::parse(text)) {
            accepted[1] += 1;
            condition.value.map(|value| checked(text, value.evaluate_bool(&scope)));
        }
        if let Some(template) = checked(text, Template::parse(text)) {
            accepted[2] += 1;
            checked(text, template.render(&scope));
            assert_eq!(Template::parse(&template.to_string()).as_ref(), Ok(&template), "{text:?}");
        }
        accepted[3] +=
            usize::from(checked(text, parse_script(text)).is_some_and(|s| !s.vars.is_empty()));
        accepted[4] += usize::from(checked(text, Requirement::parse(text)).is_some());
        direct_command(text);
    }
    assert!(accepted.iter().all(|count| *count > 50), "noise that is all refused: {accepted:?}");
}
