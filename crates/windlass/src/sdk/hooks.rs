//! What a program does around its steps and runs.

use std::fmt;
use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::Arc;

use windlass_core::step_failure::StepFailure;
use windlass_worker::executors::{CallFuture, CallRetry, Callee, StepCall, catch_panics};

use super::context::Context;
use super::error::Result;
use super::report::Report;

/// What is done before and after each step of a pipeline, and before and after its runs. Every method has a default that
/// does nothing.
///
/// The two around steps are called where the step runs, as a part of its attempt: in its time, and with its context. A step
/// that is dropped because it did not end in time has no `after_step`. Those around runs are called by `Pipeline::run` and
/// by the command `run`; a run that is handed to a cluster is led there, and has an `always` step for that.
///
/// ```
/// use windlass::core::step_failure::StepFailure;
/// use windlass::{Context, Hooks, Pipeline, Result, step};
///
/// struct LogLines;
///
/// impl Hooks for LogLines {
///     async fn before_step(&self, ctx: &Context) -> Result<()> {
///         ctx.log(format_args!("{} begins", ctx.step()));
///         Ok(())
///     }
///
///     async fn after_step(&self, ctx: &Context, ended: Result<(), &StepFailure>) {
///         ctx.log(if ended.is_ok() { "it went well" } else { "it went badly" });
///     }
/// }
///
/// #[step]
/// async fn build() -> Result<()> {
///     Ok(())
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<()> {
/// let report = Pipeline::new("ship").add(build).hooks(LogLines).run().await?;
/// assert_eq!(report.log("build").await, "build begins\nit went well\n");
/// # Ok(())
/// # }
/// ```
pub trait Hooks: Send + Sync + 'static {
    /// Before an attempt at a step. An error is the step's failure, and the step does not begin.
    fn before_step(&self, ctx: &Context) -> impl Future<Output = Result<()>> + Send {
        let _ = ctx;
        ready(Ok(()))
    }

    /// After an attempt at a step, with what it failed with if it did.
    fn after_step(
        &self,
        ctx: &Context,
        ended: Result<(), &StepFailure>,
    ) -> impl Future<Output = ()> + Send {
        let _ = (ctx, ended);
        ready(())
    }

    /// Before a run is begun. An error keeps it from beginning.
    fn before_run(&self, pipeline: &str) -> impl Future<Output = Result<()>> + Send {
        let _ = pipeline;
        ready(Ok(()))
    }

    /// After a run has ended.
    fn after_run(&self, report: &Report) -> impl Future<Output = ()> + Send {
        let _ = report;
        ready(())
    }
}

type HookFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Hooks with their type hidden.
pub(crate) trait ErasedHooks: Send + Sync {
    fn before_step<'a>(&'a self, ctx: &'a Context) -> HookFuture<'a, Result<()>>;
    fn after_step<'a>(
        &'a self,
        ctx: &'a Context,
        ended: Result<(), &'a StepFailure>,
    ) -> HookFuture<'a, ()>;
    fn before_run<'a>(&'a self, pipeline: &'a str) -> HookFuture<'a, Result<()>>;
    fn after_run<'a>(&'a self, report: &'a Report) -> HookFuture<'a, ()>;
}

impl<H: Hooks> ErasedHooks for H {
    fn before_step<'a>(&'a self, ctx: &'a Context) -> HookFuture<'a, Result<()>> {
        Box::pin(Hooks::before_step(self, ctx))
    }

    fn after_step<'a>(
        &'a self,
        ctx: &'a Context,
        ended: Result<(), &'a StepFailure>,
    ) -> HookFuture<'a, ()> {
        Box::pin(Hooks::after_step(self, ctx, ended))
    }

    fn before_run<'a>(&'a self, pipeline: &'a str) -> HookFuture<'a, Result<()>> {
        Box::pin(Hooks::before_run(self, pipeline))
    }

    fn after_run<'a>(&'a self, report: &'a Report) -> HookFuture<'a, ()> {
        Box::pin(Hooks::after_run(self, report))
    }
}

/// The hooks of a pipeline, in the order in which they were added.
#[derive(Clone, Default)]
pub(crate) struct HookList(Vec<Arc<dyn ErasedHooks>>);

impl HookList {
    pub(super) fn add(&mut self, hooks: impl Hooks) {
        self.0.push(Arc::new(hooks));
    }

    /// The step with what is done around it.
    pub(super) fn around(&self, callee: &Arc<dyn Callee>) -> Arc<dyn Callee> {
        if self.0.is_empty() {
            return Arc::clone(callee);
        }
        Arc::new(HookedCallee { callee: Arc::clone(callee), hooks: self.clone() })
    }

    async fn before_step(&self, ctx: &Context) -> Result<()> {
        for hooks in &self.0 {
            hooks.before_step(ctx).await?;
        }
        Ok(())
    }

    /// The last that came before is the first after.
    async fn after_step(&self, ctx: &Context, ended: Result<(), &StepFailure>) {
        for hooks in self.0.iter().rev() {
            hooks.after_step(ctx, ended).await;
        }
    }

    pub(crate) async fn before_run(&self, pipeline: &str) -> Result<()> {
        for hooks in &self.0 {
            hooks.before_run(pipeline).await?;
        }
        Ok(())
    }

    pub(crate) async fn after_run(&self, report: &Report) {
        for hooks in self.0.iter().rev() {
            hooks.after_run(report).await;
        }
    }

    /// Whether there is nothing to do.
    #[cfg(all(feature = "http", feature = "sqlite"))]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for HookList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HookList").field(&self.0.len()).finish()
    }
}

/// A step with what is done around it.
#[derive(Debug)]
struct HookedCallee {
    callee: Arc<dyn Callee>,
    hooks: HookList,
}

impl Callee for HookedCallee {
    fn signature(&self) -> &str {
        self.callee.signature()
    }

    fn call(&self, call: Arc<StepCall>) -> CallFuture {
        let (callee, hooks) = (Arc::clone(&self.callee), self.hooks.clone());
        Box::pin(async move {
            let context = Context::new(Arc::clone(&call));
            if let Err(error) = hooks.before_step(&context).await {
                return Err((error.to_failure(), CallRetry::ByPolicy));
            }
            // A step that panics has ended too.
            let returned = catch_panics(move || callee.call(call)).await;
            let ended = returned.as_ref().map(drop).map_err(|(failure, _)| failure);
            hooks.after_step(&context, ended).await;
            returned
        })
    }
}
