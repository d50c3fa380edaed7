//! What steps wrote for people, in Markdown: `$WINDLASS_SUMMARY`.

use windlass_core::id::Fence;
use windlass_core::summary::Summary;

/// Bytes of all steps together: GitHub takes a megabyte with everything else on the page.
const ALL_MAX: usize = 512 << 10;

/// The name of each step that wrote something in its last try, and what it wrote; `of` has what was written under a
/// lease.
pub(crate) fn written(
    of: impl Fn(Fence) -> Option<String>,
    summary: &Summary,
) -> Vec<(String, String)> {
    let mut room = ALL_MAX;
    let texts = summary.steps().filter_map(|step| {
        let text = of(step.last_try()?.fence)?;
        Some((step.name().to_owned(), text))
    });
    let fits = |(_, text): &(String, String)| {
        let fits = text.len() <= room;
        room = room.saturating_sub(text.len());
        fits
    };
    texts.take_while(fits).collect()
}
