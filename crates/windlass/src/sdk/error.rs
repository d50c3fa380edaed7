//! Errors of steps.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::error::Error as StdError;
use std::{any, fmt};

use windlass_core::step_failure::{StepFailure, StepFailureKind};

/// The result of a step.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The error of a step: any error, with its type, and with a backtrace if `RUST_BACKTRACE` is set. `?` converts every
/// [`std::error::Error`].
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
    /// The contexts, the innermost first.
    contexts: Vec<String>,
    backtrace: Backtrace,
}

/// An error that is only a message.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct MessageError(String);

impl Error {
    /// Creates an error that is only a message.
    pub fn msg(words: impl Into<String>) -> Self {
        let mut error = Self::from(MessageError(words.into()));
        error.0.type_name = "";
        error
    }

    /// Adds a context. The error becomes its cause.
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

    /// The name of the error's type in Rust; empty if the error is only a message.
    pub const fn type_name(&self) -> &'static str {
        self.0.type_name
    }

    /// The error itself, if it has this type. A step that decides on its retries calls this.
    pub fn downcast_ref<E: StdError + 'static>(&self) -> Option<&E> {
        self.0.error.downcast_ref()
    }

    /// Converts the error to a value that can be sent.
    pub fn to_failure(&self) -> StepFailure {
        // The failure of a need is passed on unchanged.
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

    /// The messages of the error and of its causes.
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

/// Shows the causes too, for a `main` that returns the error.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.to_failure())
    }
}
