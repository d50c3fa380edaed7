//! What can be fuzzed, and what a check comes to.

use crate::{dictionary, expr, shell, spec};

/// What is fuzzed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FuzzTarget {
    /// The pipeline file, up to its plan.
    Spec,
    /// Expressions, conditions, templates, requirements.
    Expr,
    /// The script of a `run`.
    Shell,
}

/// A broken promise.
#[derive(Clone, Debug)]
pub(crate) struct FuzzFinding {
    /// Which one: findings with the same key are one.
    pub(crate) key: String,
    /// What there is to see.
    pub(crate) detail: String,
}

/// What an input came to, in few words: inputs that come to something new are worth changing further.
pub(crate) type FuzzOutcome = Result<String, FuzzFinding>;

impl FuzzTarget {
    /// The target of this name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        [Self::Spec, Self::Expr, Self::Shell].into_iter().find(|target| target.name() == name)
    }

    /// Its name, which its folder in the corpus has too.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Spec => "spec",
            Self::Expr => "expr",
            Self::Shell => "shell",
        }
    }

    /// What is worth inserting.
    pub(crate) const fn words(self) -> &'static [&'static str] {
        match self {
            Self::Spec => dictionary::SPEC,
            Self::Expr => dictionary::EXPR,
            Self::Shell => dictionary::SHELL,
        }
    }

    /// Checks every promise on an input.
    pub(crate) fn check(self, bytes: &[u8]) -> FuzzOutcome {
        match self {
            Self::Spec => spec::check(bytes),
            Self::Expr => expr::check(&String::from_utf8_lossy(bytes)),
            Self::Shell => shell::check(&String::from_utf8_lossy(bytes)),
        }
    }
}

/// A finding unless it holds.
pub(crate) fn promise(
    holds: bool,
    key: impl Into<String>,
    detail: impl FnOnce() -> String,
) -> Result<(), FuzzFinding> {
    if holds { Ok(()) } else { Err(FuzzFinding { key: key.into(), detail: detail() }) }
}
