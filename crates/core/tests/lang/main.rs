//! The small languages of a pipeline file: expressions, templates, scripts and requirements.
#![expect(clippy::too_many_lines, reason = "a page of messages reads best as one snapshot")]

mod conditions;
mod direct;
mod expressions;
mod noise;
mod requirements;
mod scripts;
mod shells;
mod templates;

use windlass_core::expr::ExprError;

/// Returns an error as the user sees it: the text, carets below the wrong part, and the message.
fn shown(text: &str, error: &ExprError) -> String {
    let line = text[..error.range.start].rfind('\n').map_or(0, |end| end + 1);
    let column = text[line..error.range.start].chars().count();
    let carets = "^".repeat(text[error.range.clone()].chars().count().max(1));
    let shown_line = text[line..].lines().next().unwrap_or_default();
    let help = error.help.as_ref().map(|help| format!("\nhelp: {help}")).unwrap_or_default();
    let (code, message) = (error.code, &error.message);
    format!("{shown_line}\n{}{carets}\n{code}: {message}{help}\n", " ".repeat(column))
}

/// Returns the errors of these texts, one after the other.
fn all_shown<T: std::fmt::Debug>(
    texts: &[&str],
    parse: impl Fn(&str) -> Result<T, ExprError>,
) -> String {
    let of_one = |text: &&str| match parse(text) {
        Ok(value) => panic!("{text:?} is accepted as {value:?}"),
        Err(error) => shown(text, &error),
    };
    texts.iter().map(of_one).collect::<Vec<_>>().join("\n")
}
