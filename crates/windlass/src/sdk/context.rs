//! The context of an attempt, which the function of a step receives.

use std::ffi::OsStr;
use std::fmt::{self, Display};
use std::future::Future;
use std::io;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize as _;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use windlass_core::outcome::StepStatus;
use windlass_worker::executors::StepCall;
use windlass_worker::values::InMemoryValue;

use super::cells::Cell;
use super::command::Command;
use super::error::{Error, Result};
use super::parameter_types::{Ended, Out};
use super::step::Step;
use super::value::{decode, from_text};

/// One attempt, as its function sees it. It is cheap to clone, and tasks and threads of the function can keep a clone.
#[derive(Clone)]
pub struct Context {
    call: Arc<StepCall>,
}

impl Context {
    pub(crate) const fn new(call: Arc<StepCall>) -> Self {
        Self { call }
    }

    /// The id of the run.
    pub fn run(&self) -> String {
        self.call.grant.lease.run.to_string()
    }

    /// The name of the step, with its cell: `test[linux]`.
    pub fn step(&self) -> &str {
        &self.call.grant.name
    }

    /// The attempt number, from 1.
    pub fn attempt(&self) -> u16 {
        self.call.grant.lease.attempt
    }

    /// The name of the worker that runs the attempt.
    pub fn worker(&self) -> &str {
        &self.call.services.settings.worker
    }

    /// The root of the pipeline on this machine, in which commands run.
    pub fn root(&self) -> &Path {
        &self.call.services.settings.root
    }

    /// The fence of the attempt: the number of its lease, which only grows. A service that remembers the highest fence can
    /// refuse an attempt whose lease was given to another worker.
    pub fn fence(&self) -> u64 {
        self.call.grant.lease.fence.0
    }

    /// A key that is the same for every attempt, delivery, resumption and rerun of the step. A service that accepts such a
    /// key performs the effect once.
    pub fn idempotency_key(&self) -> String {
        self.call.granted_work().idempotency_key()
    }

    /// Writes a line to the log of the step.
    ///
    /// It never waits: if more than 4 MiB of output wait to be stored, further lines are omitted and counted.
    pub fn log(&self, line: impl Display) {
        self.call.output.push(format!("{line}\n").as_bytes());
    }

    /// The log of the step as a writer. Events of `tracing` in the step go to its log by themselves.
    pub fn writer(&self) -> LogWriter {
        LogWriter { call: Arc::clone(&self.call) }
    }

    /// A secret that the step lists in its options. It is masked in the log and in errors.
    pub fn secret(&self, name: &str) -> Result<&str> {
        let found = self.call.secrets.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).ok_or_else(|| {
            Error::msg(format!("the step does not name the secret {name}: add it to `secrets`"))
        })
    }

    /// The variables that commands of the step get: its own `env:` and that of its pipeline.
    pub fn variables(&self) -> Result<Vec<(String, String)>> {
        let granted_work = self.call.granted_work();
        granted_work.variables(&granted_work.scope()).map_err(Error::msg)
    }

    /// Whether the step must end because its run was cancelled or its timeout has expired.
    pub fn is_cancelled(&self) -> bool {
        self.call.stop_signal.is_sent()
    }

    /// Waits until the step must end. The step then has its `kill_grace` to return; after that it is dropped at its next
    /// `.await`.
    pub async fn cancelled(&self) {
        self.call.stop_signal.wait().await;
    }

    /// Awaits a future. If the step must end first, drops the future and returns an error.
    pub async fn unless_cancelled<T>(&self, doing: impl Future<Output = T>) -> Result<T> {
        tokio::select! {
            done = doing => Ok(done),
            () = self.cancelled() => Err(Error::msg("the step was asked to end")),
        }
    }

    /// Cancels the whole run, and writes the reason to the log of the step. Running steps are asked to end, this one
    /// included; waiting steps do not start, except those with `always`. It returns when the leader has confirmed.
    ///
    /// ```
    /// use windlass::core::outcome::RunStatus;
    /// use windlass::{Context, Pipeline, Result, step};
    ///
    /// #[step]
    /// async fn look(ctx: &Context) -> Result<()> {
    ///     ctx.cancel_run("nothing has changed").await
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<()> {
    /// let report = Pipeline::new("nightly").add(look).run().await?;
    /// assert_eq!(report.status(), RunStatus::Cancelled);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn cancel_run(&self, reason: impl Display) -> Result<()> {
        Ok(self.call.cancel_run(&reason.to_string()).await?)
    }

    /// A command that runs under the guard. Its output is in the log of the step, and its processes end with the step.
    /// Several can run at once.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        Command::new(&self.call, program.as_ref().to_owned())
    }

    /// Runs a function that computes or blocks, on a thread of its own and in the current span of `tracing`. The attempt
    /// does not end before the function returns.
    pub async fn blocking<T: Send + 'static>(
        &self,
        function: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        #[cfg(feature = "tracing")]
        let function = {
            let span = tracing::Span::current();
            move || span.in_scope(function)
        };
        match self.call.blocking(function).await {
            Ok(returned) => returned,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// The result of a need, like [`Out`](super::Out).
    pub fn result<S: Step>(&self) -> Result<Out<S>> {
        let name = S::NAME;
        if let Some(given) = self.call.value(name) {
            let given = given.map_err(Error::msg)?;
            return decode(&given).map(Out::new).map_err(|error| unfit(name, &error));
        }
        let need = self.call.need(name);
        let status = status_of(need).ok_or_else(|| {
            Error::msg(format!(
                "the result of `{name}` is taken, and `{name}` is no part of the run"
            ))
        })?;
        if !has_result(status) {
            let what = format!("`{name}` has no result: it was {status}");
            return Err(Error::msg(what).context(format!(
                "a step that can do without takes `Option<Out<..>>` of `{name}`"
            )));
        }
        if let Some(kept) = self.call.kept_in_memory(need).transpose() {
            return kept_here::<S>(kept);
        }
        decode(&need["outputs"]).map(Out::new).map_err(|error| unfit(name, &error))
    }

    /// The final status and the result of a need, like [`Ended`].
    pub fn ended<S: Step>(&self) -> Result<Ended<S>> {
        let need = self.call.need(S::NAME);
        let status = status_of(need).unwrap_or(StepStatus::Skipped);
        let output = if has_result(status) { Some(self.result::<S>()?) } else { None };
        Ok(Ended::new(status, output))
    }

    /// The cells of a need, like [`Cells`](super::Cells).
    pub fn cells<S: Step>(&self) -> Result<Vec<Cell<S::Output>>> {
        let cells = self.call.need(S::NAME)["outputs"].as_array();
        let cells = cells.ok_or_else(|| {
            Error::msg(format!("the cells of `{0}` are taken, and `{0}` has none here", S::NAME))
        })?;
        let cell = |cell: &Value| {
            let name = cell["cell"].as_str().unwrap_or_default();
            let status = status_of(cell).unwrap_or(StepStatus::Skipped);
            let output = has_result(status).then(|| decode(&cell["outputs"])).transpose();
            Ok(Cell::new(name, status, output.map_err(|error| unfit(name, &error))?))
        };
        cells.iter().map(cell).collect()
    }

    /// The target of the cell that runs, like [`Target`](super::Target).
    pub fn target<T: DeserializeOwned>(&self) -> Result<T> {
        let cell = self.call.cell();
        let value = match cell.as_slice() {
            [] => return Err(Error::msg("it has no target: the step has no matrix")),
            [(_, value)] => {
                let whole = Value::String(value.clone());
                match from_text(&whole) {
                    Ok(target) => return Ok(target),
                    Err(_) if cell[0].0 != "target" => fields(&cell),
                    Err(_) => whole,
                }
            }
            several => fields(several),
        };

        from_text(&value).map_err(|error| Error::msg(format!("the target {value}: {error}")))
    }

    /// A value that was passed with `with:`, like [`Input`](super::Input).
    pub fn value<T: DeserializeOwned>(&self, name: &str) -> Result<T> {
        let missing = || Error::msg(format!("no value `{name}` was passed with `with:`"));
        self.optional_value(name)?.ok_or_else(missing)
    }

    /// A value that was passed with `with:`, if there is one.
    pub fn optional_value<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        let Some(given) = self.call.value(name) else { return Ok(None) };
        let value = given.map_err(Error::msg)?;
        if value.is_null() {
            return Ok(None);
        }
        let read = from_text(&value);
        read.map(Some).map_err(|error| Error::msg(format!("the value `{name}`: {error}")))
    }
}

/// A result that is kept in the memory of this worker.
fn kept_here<S: Step>(kept: std::result::Result<InMemoryValue, String>) -> Result<Out<S>> {
    let unavailable =
        |why| Error::msg(format!("the result of `{}` is not available: {why}", S::NAME));
    let kept = kept.map_err(unavailable)?.downcast::<S::Output>();
    kept.map(Out::shared)
        .map_err(|_| unavailable("it has another type than this step takes".to_owned()))
}

/// A cell as a struct with a field for each axis.
fn fields(cell: &[(String, String)]) -> Value {
    let fields = cell.iter().map(|(axis, value)| (axis.clone(), Value::from(value.clone())));
    Value::Object(fields.collect::<Map<String, Value>>())
}

/// A step whose outcome was reused from an earlier run has a result as well.
const fn has_result(status: StepStatus) -> bool {
    matches!(status, StepStatus::Succeeded | StepStatus::Cached)
}

fn status_of(need: &Value) -> Option<StepStatus> {
    StepStatus::deserialize(need.get("status")?).ok()
}

fn unfit(step: &str, error: &str) -> Error {
    Error::msg(format!("the result of `{step}` has another type than this step takes: {error}"))
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("step", &self.step()).finish_non_exhaustive()
    }
}

/// A writer to the log of a step.
#[derive(Clone)]
pub struct LogWriter {
    call: Arc<StepCall>,
}

impl io::Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.call.output.push(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for LogWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogWriter").finish_non_exhaustive()
    }
}
