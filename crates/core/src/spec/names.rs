//! Valid names, and the nearest match of a misspelled one.

use crate::plan::NAME_MAX;

/// Keywords of expressions. An expression could not refer to a step, param, axis or output with such a name.
const RESERVED: &[&str] = &["and", "or", "not", "in", "true", "false", "null"];

/// Whether a string is a valid name: `[A-Za-z_][A-Za-z0-9_-]*`, at most `NAME_MAX` bytes.
pub fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    text.len() <= NAME_MAX
        && bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

/// Whether the name is a keyword of expressions.
pub(crate) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name.to_ascii_lowercase().as_str())
}

/// Replaces characters that are not allowed in a name.
pub(crate) fn name_like(text: &str) -> String {
    let mapped =
        text.trim().chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' });
    let joined: String = mapped.collect();
    let name = joined.trim_matches('-').to_owned();
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name }
}

/// Maximum character comparisons of one search: some milliseconds. Further names are not compared.
const COMPARED_CHARS_MAX: usize = 1_000_000;

/// Returns the most similar candidate, if at most a third of the characters differ.
pub fn nearest_name<'a>(
    written: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let lower = written.to_lowercase();
    let mut best: Option<(usize, &str)> = None;
    let mut left = COMPARED_CHARS_MAX;
    for candidate in candidates {
        let letters = lower.len().min(NAME_MAX) * candidate.len().min(NAME_MAX);
        let Some(rest) = left.checked_sub(letters.max(1)) else { break };
        left = rest;
        let distance = edit_distance(&lower, &candidate.to_lowercase());
        if best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    let (distance, best) = best?;
    (distance * 3 <= written.chars().count().max(3)).then_some(best)
}

/// The edit distance: characters to insert, remove, replace or swap. Names are truncated to `NAME_MAX`.
fn edit_distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(NAME_MAX).collect();
    let b: Vec<char> = b.chars().take(NAME_MAX).collect();
    if a.len().abs_diff(b.len()) > a.len().max(3) / 3 + 1 {
        return usize::MAX / 8;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let replace = last[j] + usize::from(x != y);
            let mut cost = replace.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                cost = cost.min(before[j - 1] + 1);
            }
            row.push(cost);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_name_is_similar_or_none() {
        let steps = ["lint", "test", "bundle", "deploy"];
        assert_eq!(nearest_name("tset", steps), Some("test"));
        assert_eq!(nearest_name("Bundel", steps), Some("bundle"));
        assert_eq!(nearest_name("release", steps), None);
        assert_eq!(nearest_name("", steps), None);
    }

    #[test]
    fn strings_are_converted_to_names() {
        assert_eq!(name_like(" unit tests!"), "unit-tests");
        assert_eq!(name_like("2nd"), "_2nd");
    }
}
