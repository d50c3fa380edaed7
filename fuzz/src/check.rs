//! Fuzz targets, and the results of checks.

use crate::{dictionary, expr, junit, manifest, shell, spec};

/// A fuzz target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FuzzTarget {
    /// The pipeline file, up to its plan.
    Spec,
    /// Expressions, conditions, templates, requirements.
    Expr,
    /// The script of a `run`.
    Shell,
    /// An encoded manifest.
    Manifest,
    /// A test report of a step.
    Junit,
}

/// A violated property.
#[derive(Clone, Debug)]
pub(crate) struct FuzzFinding {
    /// The key. Findings with the same key count as one.
    pub(crate) key: String,
    /// The description.
    pub(crate) detail: String,
}

/// The result of an input in few words. An input with a new result is mutated further.
pub(crate) type FuzzOutcome = Result<String, FuzzFinding>;

impl FuzzTarget {
    /// The target of this name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        [Self::Spec, Self::Expr, Self::Shell, Self::Manifest, Self::Junit]
            .into_iter()
            .find(|target| target.name() == name)
    }

    /// The name of the target and of its folder in the corpus.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Spec => "spec",
            Self::Expr => "expr",
            Self::Shell => "shell",
            Self::Manifest => "manifest",
            Self::Junit => "junit",
        }
    }

    /// The words to insert.
    pub(crate) const fn words(self) -> &'static [&'static str] {
        match self {
            Self::Spec => dictionary::SPEC,
            Self::Expr => dictionary::EXPR,
            Self::Shell => dictionary::SHELL,
            Self::Manifest => dictionary::MANIFEST,
            Self::Junit => dictionary::JUNIT,
        }
    }

    /// Checks every property on an input.
    pub(crate) fn check(self, bytes: &[u8]) -> FuzzOutcome {
        match self {
            Self::Spec => spec::check(bytes),
            Self::Expr => expr::check(&String::from_utf8_lossy(bytes)),
            Self::Shell => shell::check(&String::from_utf8_lossy(bytes)),
            Self::Manifest => manifest::check(bytes),
            Self::Junit => junit::check(bytes),
        }
    }
}

/// A finding, unless the condition holds.
pub(crate) fn promise(
    holds: bool,
    key: impl Into<String>,
    detail: impl FnOnce() -> String,
) -> Result<(), FuzzFinding> {
    if holds { Ok(()) } else { Err(FuzzFinding { key: key.into(), detail: detail() }) }
}
