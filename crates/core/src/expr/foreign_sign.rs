//! Signs of other languages, and the operator or function that expressions have in their place.

use super::error::{ExprError, code};

/// Operators of other languages, and what to write instead. Longer ones first.
const FOREIGN_SIGNS: &[(&str, &str)] = &[
    ("&&", "write `and`"),
    ("||", "write `or`"),
    ("===", "write `==`"),
    ("!==", "write `!=`"),
    ("<>", "write `!=`"),
    ("=~", "there are no patterns; `in` tests whether a string contains another"),
    ("=", "write `==` to compare"),
    ("!", "write `not`"),
    ("&", "write `and`"),
    ("|", "write `or`; there are no filters"),
    ("${{", "this is already an expression: remove `${{` and `}}`"),
    ("$", "expressions cannot read environment variables: declare a param, and read `params.NAME`"),
    ("{", "there are no maps; write a list as [\"a\", \"b\"]"),
    ("+", NO_ARITHMETIC),
    ("-", NO_ARITHMETIC),
    ("*", NO_ARITHMETIC),
    ("/", NO_ARITHMETIC),
    ("%", NO_ARITHMETIC),
    ("?", "there is no `? :`; `default(value, fallback)` replaces a missing value"),
    ("\u{201c}", "write straight quotes: \"text\""),
    ("\u{201d}", "write straight quotes: \"text\""),
    ("\u{2018}", "write straight quotes: 'text'"),
    ("\u{2019}", "write straight quotes: 'text'"),
    ("`", "write \"text\" or 'text'"),
];
const NO_ARITHMETIC: &str =
    "there is no arithmetic: compute the value in a step and read its output";

pub(super) fn foreign_sign(rest: &str, first: char) -> ExprError {
    let known = FOREIGN_SIGNS.iter().find(|(sign, _)| rest.starts_with(sign));
    let sign = known.map_or(&rest[..first.len_utf8()], |(sign, _)| sign);
    let what = format!("`{}` has no meaning in an expression", sign.escape_debug());
    let error = ExprError::new(code::EXPRESSION, 0..sign.len(), what);
    match known {
        Some((_, help)) => error.help(*help),
        None => error,
    }
}
