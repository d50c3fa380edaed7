//! A step with its types.

use std::future::Future;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::context::Context;
use super::error::{Error, Result};
use super::options::Options;
use super::takes::Takes;

/// A step: a name, a typed result, and what leads to it. `#[step]` makes one of an async function; by hand it is written
/// like this:
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
    message = "`{Self}` is no step",
    label = "not a step",
    note = "`#[step]` on `async fn build(..)` makes the step `Build`"
)]
pub trait Step: Send + Sync + 'static {
    /// Its name in the pipeline: letters, digits, `_` and `-`.
    const NAME: &'static str;

    /// What it hands to the steps that need it. It travels as JSON between machines, unless it is pinned and too large.
    type Output: Serialize + DeserializeOwned + Send + Sync + 'static;

    /// All that a pipeline file could say of it.
    fn options(&self) -> Options {
        Options::new()
    }

    /// Which results and values it takes.
    fn takes(takes: &mut Takes) {
        let _ = takes;
    }

    /// Does it, once for each attempt.
    fn run(&self, context: &Context) -> impl Future<Output = Result<Self::Output>> + Send;
}

/// A step without a matrix: it has one result, which others take as [`Out`](super::Out).
#[diagnostic::on_unimplemented(
    message = "the step `{Self}` has a matrix: it has a result for each cell",
    label = "take `Cells<{Self}>`"
)]
pub trait Single: Step {}

/// A step with a matrix: it has a result for each cell, which others take as [`Cells`](super::Cells).
#[diagnostic::on_unimplemented(
    message = "the step `{Self}` has no matrix: it has one result",
    label = "take `Out<{Self}>`"
)]
pub trait Matrix: Step {}

/// What names a step to a pipeline or a report: the step itself, or the function that `#[step]` was written on.
#[diagnostic::on_unimplemented(
    message = "this is no step",
    label = "not a step",
    note = "write `#[step]` on the async function"
)]
pub trait IntoStep<How> {
    /// The step.
    type Step: Step;

    /// It.
    fn into_step(self) -> Self::Step;
}

/// A step names itself.
#[derive(Debug)]
pub struct IsStep;

/// A function names the step that it was made into.
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

/// What the function of a step may return: nothing, or a `Result`.
#[diagnostic::on_unimplemented(
    message = "a step returns `Result<T>` or nothing, not `{Self}`",
    label = "wrap it: `windlass::Result<{Self}>`"
)]
pub trait Returns {
    /// What the step hands on.
    type Output;

    /// What it returned.
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
