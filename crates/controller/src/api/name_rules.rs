//! Rules for names, which appear in logs, tables, terminals and paths.

use windlass_core::display_text::{NAME_MAX, is_displayable, is_label};

use super::api_error::ApiError;

/// The most labels of one worker.
const LABELS_MAX: usize = 256;

/// Refuses a name that is empty, too long, contains control characters, or looks like a path.
pub(super) fn check(what: &str, name: &str) -> Result<(), ApiError> {
    let bad = !is_displayable(name) || matches!(name, "." | "..") || name.contains(['/', '\\']);
    if !bad {
        return Ok(());
    }
    let shown: String = name.chars().take(40).collect();
    Err(ApiError::bad_request(format!(
        "{what} cannot be {shown:?}: it has 1 to {NAME_MAX} bytes, no line breaks, and no `/` or `\\`"
    )))
}

/// Refuses labels that no step could require.
pub(super) fn check_labels<'a>(labels: impl Iterator<Item = &'a str>) -> Result<(), ApiError> {
    for (at, label) in labels.enumerate() {
        if at == LABELS_MAX {
            return Err(ApiError::bad_request(format!("a worker has at most {LABELS_MAX} labels")));
        }
        if !is_label(label) {
            let shown: String = label.chars().take(40).collect();
            return Err(ApiError::bad_request(format!(
                "a label cannot be {shown:?}: it is one word of 1 to {NAME_MAX} bytes"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_in_one_line() {
        for good in ["build-7", "Büro", "my box", "10.0.0.1", ".config"] {
            assert_eq!(check("a name", good), Ok(()), "{good}");
        }
        let long = "x".repeat(NAME_MAX + 1);
        for bad in ["", "a\nb", "../etc", "a/b", "a\\b", "..", "\u{1b}[2J", "a\u{202e}b", &long] {
            assert!(check("a name", bad).is_err(), "{bad}");
        }
    }
}
