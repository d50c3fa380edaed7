//! Typed steps.

use std::future::Future;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::context::Context;
use super::error::{Error, Result};
use super::options::Options;
use super::takes::Takes;

/// A step: a name, a typed result, and the function that computes it. `#[step]` makes a step of an async function. By hand
/// it is written like this:
///
/// ```
/// use windlass::{Context, Options, Result, Single, Step, Takes};
///
/// struct Fetch {
///     url: String,
/// }
///
/// impl Step for Fetch {
///     const NAME: &'static str = "fetch";
///     type Output = String;
///
///     fn options(&self) -> Options {
///         Options::new().timeout("5m").retry(2)
///     }
///
///     async fn run(&self, ctx: &Context) -> Result<String> {
///         ctx.log(format_args!("fetching {}", self.url));
///         Ok(self.url.to_uppercase())
///     }
/// }
///
/// impl Single for Fetch {}
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a step",
    label = "not a step",
    note = "`#[step]` on `async fn build(..)` makes the step `Build`"
)]
pub trait Step: Send + Sync + 'static {
    /// The name in the pipeline: letters, digits, `_` and `-`.
    const NAME: &'static str;

    /// The result, which dependents receive. It is sent as JSON between machines, unless it is too large and the step is
    /// pinned.
    type Output: Serialize + DeserializeOwned + Send + Sync + 'static;

    /// The options, which are the keys of a step in a pipeline file.
    fn options(&self) -> Options {
        Options::new()
    }

    /// Declares the results and values that the step takes.
    fn takes(takes: &mut Takes) {
        let _ = takes;
    }

    /// Runs the step, once per attempt.
    fn run(&self, context: &Context) -> impl Future<Output = Result<Self::Output>> + Send;
}

/// A step without a matrix. It has one result, which dependents take as [`Out`](super::Out).
#[diagnostic::on_unimplemented(
    message = "the step `{Self}` has a matrix: it has a result for each cell",
    label = "take `Cells<{Self}>`"
)]
pub trait Single: Step {}

/// A step with a matrix. It has a result for each cell, which dependents take as [`Cells`](super::Cells).
#[diagnostic::on_unimplemented(
    message = "the step `{Self}` has no matrix: it has one result",
    label = "take `Out<{Self}>`"
)]
pub trait Matrix: Step {}

/// A reference to a step in a pipeline or a report: the step itself, or its function with `#[step]`.
#[diagnostic::on_unimplemented(
    message = "this is not a step",
    label = "not a step",
    note = "write `#[step]` on the async function"
)]
pub trait IntoStep<How> {
    /// The step.
    type Step: Step;

    /// Returns the step.
    fn into_step(self) -> Self::Step;
}

/// A step refers to itself.
#[derive(Debug)]
pub struct IsStep;

/// A function refers to the step that `#[step]` made of it.
#[derive(Debug)]
pub struct IsFunction;

impl<S: Step> IntoStep<IsStep> for S {
    type Step = S;

    fn into_step(self) -> S {
        self
    }
}

impl<F: FnOnce() -> S, S: Step> IntoStep<IsFunction> for F {
    type Step = S;

    fn into_step(self) -> S {
        self()
    }
}

/// The return types of a step's function: nothing, or a `Result`.
#[diagnostic::on_unimplemented(
    message = "a step returns `Result<T>` or nothing, not `{Self}`",
    label = "wrap it: `windlass::Result<{Self}>`"
)]
pub trait Returns {
    /// The result of the step.
    type Output;

    /// Converts the returned value.
    fn returned(self) -> Result<Self::Output>;
}

impl Returns for () {
    type Output = ();

    fn returned(self) -> Result<()> {
        Ok(())
    }
}

impl<T, E: Into<Error>> Returns for Result<T, E> {
    type Output = T;

    fn returned(self) -> Result<T> {
        self.map_err(Into::into)
    }
}
