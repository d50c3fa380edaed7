//! What steps wrote for people, in Markdown: `$WINDLASS_SUMMARY`.

use std::path::Path;

use windlass_core::summary::Summary;

use crate::worker::executors;

/// Bytes of all steps together: GitHub takes a megabyte with everything else on the page.
const ALL_MAX: usize = 512 << 10;

/// The name of each step that wrote something in its last try, and what it wrote.
pub(crate) fn written(scratch: &Path, summary: &Summary) -> Vec<(String, String)> {
    let mut room = ALL_MAX;
    let texts = summary.steps().filter_map(|step| {
        let text = executors::summary(scratch, step.last_try()?.fence)?;
        Some((step.name().to_owned(), text))
    });
    let fits = |(_, text): &(String, String)| {
        let fits = text.len() <= room;
        room = room.saturating_sub(text.len());
        fits
    };
    texts.take_while(fits).collect()
}
