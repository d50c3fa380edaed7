//! Hooks around the steps and runs of a pipeline.

use std::fmt;
use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::Arc;

use windlass_core::step_failure::StepFailure;
use windlass_worker::executors::{CallFuture, CallRetry, Callee, StepCall, catch_panics};

use super::context::Context;
use super::error::Result;
use super::report::Report;

/// Functions that run before and after each step of a pipeline, and before and after its runs. Every method does nothing by
/// default.
///
/// The hooks of a step run on its worker, as part of the attempt: within its timeout, and with its context. A step that is
/// dropped because it did not end in time has no `after_step`. The hooks of a run are called by `Pipeline::run` and by the
/// command `run`. A run on a cluster does not call them; use a step with `always` there.
///
/// ```
/// use windlass::core::step_failure::StepFailure;
/// use windlass::{Context, Hooks, Pipeline, Result, step};
///
/// struct LoggingHooks;
///
/// impl Hooks for LoggingHooks {
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
/// let report = Pipeline::new("ship").add(build).hooks(LoggingHooks).run().await?;
/// assert_eq!(report.log("build").await, "build begins\nit went well\n");
/// # Ok(())
/// # }
/// ```
pub trait Hooks: Send + Sync + 'static {
    /// Runs before an attempt. An error fails the step, and its function does not run.
    fn before_step(&self, ctx: &Context) -> impl Future<Output = Result<()>> + Send {
        let _ = ctx;
        ready(Ok(()))
    }

    /// Runs after an attempt, with its failure if it failed.
    fn after_step(
        &self,
        ctx: &Context,
        ended: Result<(), &StepFailure>,
    ) -> impl Future<Output = ()> + Send {
        let _ = (ctx, ended);
        ready(())
    }

    /// Runs before a run starts. An error prevents the run.
    fn before_run(&self, pipeline: &str) -> impl Future<Output = Result<()>> + Send {
        let _ = pipeline;
        ready(Ok(()))
    }

    /// Runs after a run has ended.
    fn after_run(&self, report: &Report) -> impl Future<Output = ()> + Send {
        let _ = report;
        ready(())
    }
}

type HookFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Hooks as a trait object.
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

    /// Wraps a step in the hooks.
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

    /// Calls the hooks in reverse order.
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

    /// Whether there are no hooks.
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

/// A step with its hooks.
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
            // The hooks also run after a panic.
            let returned = catch_panics(move || callee.call(call)).await;
            let ended = returned.as_ref().map(drop).map_err(|(failure, _)| failure);
            hooks.after_step(&context, ended).await;
            returned
        })
    }
}
