//! The properties of the shell lexer.

use std::collections::BTreeSet;

use windlass_core::shell::{direct_command, parse_script};

use crate::check::{FuzzFinding, FuzzOutcome, promise};
use crate::expr::{error_shape, error_sound};

/// The number of brackets up to which a script is never too deep.
const NESTED_MAX: usize = 40;

/// Checks the script of a `run`.
pub(crate) fn check(text: &str) -> FuzzOutcome {
    let whole = direct_command(text);
    // A script with values is not lexed here.
    let plain = whole.filter(|_| !text.contains("${{"));
    if let Some(words) = &plain {
        promise(!words.is_empty(), "direct: no command", String::new)?;
    }
    let read = match parse_script(text) {
        Ok(read) => read,
        Err(error) => {
            error_sound(text, &error)?;
            promise(plain.is_none(), "direct: what no script is", || format!("{error:?}"))?;
            return Ok(error_shape("script", &error));
        }
    };
    let seen = || format!("{read:?}");
    let untouched = text.contains("${{") || (read.text == text && read.vars.is_empty());
    promise(untouched, "a script without values is changed", seen)?;
    variables(text, &read.text, &read.vars.iter().map(|(name, _)| &**name).collect::<Vec<_>>())?;
    // The quotes around a variable add one level: a script at the limit can become too deep.
    if text.matches(['(', '{']).count() > NESTED_MAX {
        return Ok("deep".to_owned());
    }
    let again = parse_script(&read.text).map_err(|error| FuzzFinding {
        key: format!("what comes out cannot be read: {}", error.message),
        detail: format!("{error:?}\n{:?}", read.text),
    })?;
    let same = again.text == read.text && again.vars.is_empty();
    promise(same, "what comes out has values again", || format!("{again:?}"))?;
    Ok(format!("ok {} {} {}", read.vars.len(), plain.is_some(), kinds(text)))
}

/// Every variable is new, declared once and used, and every name of that form is declared.
fn variables(before: &str, after: &str, vars: &[&str]) -> Result<(), FuzzFinding> {
    let (old, new) = (names(before), names(after));
    let declared: BTreeSet<&str> = vars.iter().copied().collect();
    let seen = || format!("{vars:?} for {after:?}");
    promise(declared.len() == vars.len(), "a variable is declared twice", seen)?;
    for name in &declared {
        promise(!old.contains(name), "a variable that the script has itself", seen)?;
        let used = after.contains(&format!("${{{name}}}"));
        promise(used, "a variable that is not used", seen)?;
    }
    let missing = new.iter().find(|name| !old.contains(*name) && !declared.contains(*name));
    // The rest of a word after a value may be a name that occurs in the text itself.
    let missing = missing.filter(|name| after.contains(&format!("${{{name}}}")));
    promise(missing.is_none(), "a variable that is not declared", seen)
}

/// Words of the form `W1`.
fn names(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let number = |rest: &str| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit());
    words.filter(|word| word.strip_prefix('W').is_some_and(number)).collect()
}

/// The sh constructs in a script.
fn kinds(text: &str) -> String {
    const KINDS: &[&str] =
        &["<<", "$(", "$((", "`", "${", "'", "\"", "#", "\\", "case", "$'", "((", "[", "\n"];
    KINDS.iter().map(|kind| if text.contains(kind) { '1' } else { '0' }).collect()
}
