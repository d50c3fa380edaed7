//! A setting in a settings file.

use std::ops::Range;

/// A setting with its values in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigAssignment {
    /// The section.
    pub section: String,
    /// The name of the setting.
    pub setting: String,
    /// The values as written; one, unless the setting takes several. A switch is `true` or `false`.
    pub values: Vec<String>,
    /// The location of the values.
    pub span: Range<usize>,
}
