//! The files that a step hands on, and those that it gets from its needs.

use serde::{Deserialize, Serialize};

use crate::expr::Template;

/// The place of a cell in the target of [`FetchRule`].
pub const CELL_PLACEHOLDER: &str = "${{ cell }}";

/// The files that a step hands to the steps that need it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactRule {
    /// Patterns of paths below the root of the workspace, see [`PathPatterns`](super::PathPatterns).
    pub paths: Vec<Template>,
    /// The attempts whose files are kept.
    #[serde(default)]
    pub when: ArtifactsWhen,
    /// What follows if no file matches.
    #[serde(default)]
    pub missing: MissingArtifacts,
}

/// The attempts whose files are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactsWhen {
    /// Those that succeed.
    #[default]
    Success,
    /// Those that fail or time out.
    Failure,
    /// Both.
    Always,
}

/// What follows if no file matches the patterns of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingArtifacts {
    /// The step fails.
    #[default]
    Fail,
    /// The step hands on no files.
    Ignore,
}

/// Files that a step gets before it starts: the artifacts of a step that it needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FetchRule {
    /// The name of the step that made them.
    pub step: String,
    /// The folder in which they are written, below the root of the workspace; `None` for the root itself. It can contain
    /// [`CELL_PLACEHOLDER`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

impl ArtifactsWhen {
    /// Whether the files of an attempt are kept.
    pub const fn includes(self, succeeded: bool) -> bool {
        match self {
            Self::Success => succeeded,
            Self::Failure => !succeeded,
            Self::Always => true,
        }
    }

    /// Parses the word of the file.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "success" => Some(Self::Success),
            "failure" => Some(Self::Failure),
            "always" => Some(Self::Always),
            _ => None,
        }
    }

    /// Returns the word of the file.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Always => "always",
        }
    }
}

impl FetchRule {
    /// Returns the folder for the files of a step or of a cell.
    pub fn folder_for(&self, name: &str) -> String {
        let cell = name.split_once('[').map_or(name, |(_, rest)| rest.trim_end_matches(']'));
        self.to.as_deref().unwrap_or_default().replace(CELL_PLACEHOLDER, cell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_of_a_fetch_names_the_cell() {
        let rule = |to: Option<&str>| FetchRule { step: "test".into(), to: to.map(str::to_owned) };
        assert_eq!(rule(None).folder_for("test[a]"), "");
        assert_eq!(rule(Some("in")).folder_for("test[a]"), "in");
        assert_eq!(
            rule(Some("in/${{ cell }}")).folder_for("test[linux,sqlite]"),
            "in/linux,sqlite"
        );
        assert_eq!(rule(Some("in/${{ cell }}")).folder_for("test"), "in/test");
    }
}
