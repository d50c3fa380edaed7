//! Executors that a program adds.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use windlass_core::expand::WorkAction;
use windlass_core::step_failure::{StepFailure, StepFailureKind};
use windlass_worker::executors::{CallFuture, CallRetry, Callee, StepCall};

use super::context::Context;
use super::error::Result;
use super::hand_on_result::hand_on_result;

/// Runs the scripts of steps whose `shell:` has its name. [`Cli::executor`](crate::Cli::executor) adds an executor to a
/// program, whose workers then advertise `executor=NAME`.
///
/// ```no_run
/// use std::process::ExitCode;
///
/// use windlass::{Cli, Context, Result, ScriptExecutor};
///
/// struct Sql;
///
/// impl ScriptExecutor for Sql {
///     type Output = ();
///
///     async fn run(&self, ctx: &Context, script: &str) -> Result<()> {
///         ctx.command("psql").args(["-c", script]).run().await
///     }
/// }
///
/// fn main() -> ExitCode {
///     Cli::new().executor("sql", Sql).main()
/// }
/// ```
///
/// ```yaml
/// steps:
///   clean: { requires: executor=sql, shell: sql, run: "DELETE FROM visits WHERE at < now() - '1 year'" }
/// ```
pub trait ScriptExecutor: Send + Sync + 'static {
    /// The result of a script. The fields of a struct, or the entries of a map, are the outputs of its step.
    type Output: Serialize + Send + Sync + 'static;

    /// Runs a script, once per attempt. `ctx` is the same as for a step in Rust: log, commands under the guard, secrets,
    /// cancellation, and the variables of the step ([`Context::variables`]).
    fn run(&self, ctx: &Context, script: &str)
    -> impl Future<Output = Result<Self::Output>> + Send;
}

/// An executor behind the interface that workers call.
pub(crate) struct ExecutorCallee<E>(pub(crate) Arc<E>);

impl<E: ScriptExecutor> Callee for ExecutorCallee<E> {
    fn signature(&self) -> &'static str {
        ""
    }

    fn call(&self, call: Arc<StepCall>) -> CallFuture {
        let executor = Arc::clone(&self.0);
        Box::pin(async move {
            let context = Context::new(Arc::clone(&call));
            let WorkAction::Script { text, .. } = &call.work.action else {
                unreachable!("an executor receives scripts only");
            };
            let ended = match executor.run(&context, text).await {
                Ok(output) => store_output(&call, &output).await,
                Err(error) => Err(error.to_failure()),
            };
            ended.map_err(|failure| (failure, CallRetry::ByPolicy))
        })
    }
}

/// Stores the result of a script, which must contain every output that its step declares.
async fn store_output<T: Serialize>(
    call: &StepCall,
    output: &T,
) -> std::result::Result<windlass_core::outcome::StepOutput, StepFailure> {
    let refused = |why: String| StepFailure::new(StepFailureKind::Refused, why);
    let output = serde_json::to_value(output);
    let output = output
        .map_err(|error| refused(format!("its result cannot be written as JSON: {error}")))?;
    let has = |name: &&String| output.get(name.as_str()).is_some_and(|value| *value != Value::Null);
    if let Some(missing) = call.work.outputs.iter().find(|name| !has(name)) {
        let why = format!("the step declares the output {missing}, and its executor returned none");
        return Err(refused(why));
    }
    hand_on_result(call, output).await
}

impl<E> fmt::Debug for ExecutorCallee<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ExecutorCallee")
    }
}
