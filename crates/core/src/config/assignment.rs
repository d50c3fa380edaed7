//! What was found in a file.

use std::ops::Range;

/// A setting that a file sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigAssignment {
    /// The section that it stands in.
    pub section: String,
    /// Which setting.
    pub setting: String,
    /// Its values, as they are written; one, unless the setting takes several. A switch has `true` or `false`.
    pub values: Vec<String>,
    /// Where the values stand.
    pub span: Range<usize>,
}
