//! What a step fails with.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::error::Error as StdError;
use std::{any, fmt};

use windlass_core::step_failure::{StepFailure, StepFailureKind};

/// What a step returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a step failed: any error, with its type, and where it came from if `RUST_BACKTRACE` asks for that. Every
/// [`std::error::Error`] becomes one by `?`.
///
/// ```
/// fn count(text: &str) -> windlass::Result<u32> {
///     Ok(text.trim().parse()?)
/// }
///
/// let error = count("many").unwrap_err();
/// assert_eq!(error.to_string(), "invalid digit found in string");
/// assert_eq!(error.type_name(), "core::num::error::ParseIntError");
/// ```
pub struct Error(Box<ErrorInner>);

struct ErrorInner {
    type_name: &'static str,
    error: Box<dyn StdError + Send + Sync>,
    /// What was being done, the innermost first.
    contexts: Vec<String>,
    backtrace: Backtrace,
}

/// An error that is nothing but words.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct MessageError(String);

impl Error {
    /// An error that is nothing but words.
    pub fn msg(words: impl Into<String>) -> Self {
        let mut error = Self::from(MessageError(words.into()));
        error.0.type_name = "";
        error
    }

    /// The same error, as the cause of what was being done.
    ///
    /// ```
    /// let error = windlass::Error::msg("no route").context("the farm is away");
    /// assert_eq!(error.to_string(), "the farm is away");
    /// assert_eq!(error.to_failure().causes, ["no route"]);
    /// ```
    #[must_use]
    pub fn context(mut self, doing: impl Into<String>) -> Self {
        self.0.contexts.push(doing.into());
        self
    }

    /// The type of the error, as Rust writes it; empty if it is nothing but words.
    pub const fn type_name(&self) -> &'static str {
        self.0.type_name
    }

    /// The error itself, if it is of this type: what a step that decides on its retries looks at.
    pub fn downcast_ref<E: StdError + 'static>(&self) -> Option<&E> {
        self.0.error.downcast_ref()
    }

    /// The error as a value that travels.
    pub fn to_failure(&self) -> StepFailure {
        // What a need failed with is told as it was.
        if let Some(failure) = self.downcast_ref::<StepFailure>()
            && self.0.contexts.is_empty()
        {
            return failure.clone();
        }
        let mut texts = self.texts();
        let mut failure =
            StepFailure::new(StepFailureKind::Error, texts.next().unwrap_or_default());
        self.0.type_name.clone_into(&mut failure.type_name);
        failure.causes = texts.collect();
        let frames = &self.0.backtrace;
        failure.backtrace =
            (frames.status() == BacktraceStatus::Captured).then(|| frames.to_string());
        failure
    }

    /// What it says, then what its causes say.
    fn texts(&self) -> impl Iterator<Item = String> {
        let error: &(dyn StdError + 'static) = &*self.0.error;
        let chain = std::iter::successors(Some(error), |&error| error.source());
        self.0.contexts.iter().rev().cloned().chain(chain.map(ToString::to_string))
    }
}

impl<E: StdError + Send + Sync + 'static> From<E> for Error {
    fn from(error: E) -> Self {
        Self(Box::new(ErrorInner {
            type_name: any::type_name::<E>(),
            error: Box::new(error),
            contexts: Vec::new(),
            backtrace: Backtrace::capture(),
        }))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.texts().next().unwrap_or_default())
    }
}

/// With its causes, for who returns it from `main`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.to_failure())
    }
}
