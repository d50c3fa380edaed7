//! The word that was most likely meant.

/// The candidate that differs from what was written in at most a third of its letters.
pub(crate) fn nearest_word<'a>(written: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let scored = candidates.iter().map(|candidate| (edit_distance(written, candidate), *candidate));
    let (distance, best) = scored.min_by_key(|(distance, _)| *distance)?;
    (distance * 3 <= written.len().max(3)).then_some(best)
}

/// Letters to insert, remove or replace.
fn edit_distance(a: &str, b: &str) -> usize {
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.bytes().enumerate() {
            row.push((last[j] + usize::from(x != y)).min(last[j + 1] + 1).min(row[j] + 1));
        }
        last = row;
    }
    last.last().copied().unwrap_or(0)
}
