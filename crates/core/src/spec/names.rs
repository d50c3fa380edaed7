//! Names, and the nearest one to what was written.

use crate::plan::NAME_MAX;

/// Words that mean something in an expression, where a step, param, axis or output of that name could not be written.
const RESERVED: &[&str] = &["and", "or", "not", "in", "true", "false", "null"];

/// Whether it can be used as a name: `[A-Za-z_][A-Za-z0-9_-]*`, not too long.
pub fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    text.len() <= NAME_MAX
        && bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

/// Whether an expression would read it as a word of the language.
pub(crate) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name.to_ascii_lowercase().as_str())
}

/// The text with everything replaced that cannot be part of a name.
pub(crate) fn name_like(text: &str) -> String {
    let mapped =
        text.trim().chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' });
    let joined: String = mapped.collect();
    let name = joined.trim_matches('-').to_owned();
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name }
}

/// Letters that are compared in one search for the nearest name: some milliseconds. Names beyond that are not looked at.
const COMPARED_CHARS_MAX: usize = 1_000_000;

/// The candidate that was most likely meant: at most a third of its letters differ.
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

/// Letters to insert, remove, replace or swap with their neighbour. Cut to names of a bearable length.
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
    fn the_nearest_name_is_near() {
        let steps = ["lint", "test", "bundle", "deploy"];
        assert_eq!(nearest_name("tset", steps), Some("test"));
        assert_eq!(nearest_name("Bundel", steps), Some("bundle"));
        assert_eq!(nearest_name("release", steps), None);
        assert_eq!(nearest_name("", steps), None);
    }

    #[test]
    fn a_text_becomes_a_name() {
        assert_eq!(name_like(" unit tests!"), "unit-tests");
        assert_eq!(name_like("2nd"), "_2nd");
    }
}
