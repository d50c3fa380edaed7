//! One call of a function: everything that an attempt may ask for.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::Deserialize as _;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use windlass_core::expand::{GrantedWork, StepWork, WorkAction};
use windlass_core::expr::{Template, TemplatePiece};
use windlass_core::large_value::LargeValueRef;
use windlass_core::outcome::StepOutput;
use windlass_core::session::LeaseGrant;
use windlass_link::{LinkError, WorkerLink};
use windlass_store::logs::LogStore;

use super::guard_source::GuardSource;
use super::guarded_command::RunningCommands;
use super::output_buffer::CallOutputBuffer;
use super::stop_signal::CallStopSignal;
use crate::executors::attempt_log::log_id;
use crate::executors::{ExecutorSettings, TracePropagation};
use crate::masks::SecretMasks;
use crate::values::{InMemoryValue, ValueStore};

/// How long a call tries to reach a leader to cancel a run, and the pause between two tries.
const CANCEL_WITHIN: Duration = Duration::from_mins(1);
const CANCEL_PAUSE: Duration = Duration::from_millis(200);

/// The services that all calls of a worker share.
#[derive(Clone, Debug)]
pub struct CallServices {
    /// Where and how they run.
    pub settings: ExecutorSettings,
    pub(super) guard_source: GuardSource,
    pub(super) logs: Arc<dyn LogStore>,
    pub(super) values: Arc<ValueStore>,
    pub(super) link: Option<Arc<dyn WorkerLink>>,
    pub(super) traces: TracePropagation,
}

/// One attempt, as its function sees it.
#[derive(Debug)]
pub struct StepCall {
    /// The grant that it runs under.
    pub grant: LeaseGrant,
    /// The work of the step.
    pub work: Arc<StepWork>,
    /// The services of the worker.
    pub services: Arc<CallServices>,
    /// The secrets that the step names, with their values.
    pub secrets: Vec<(String, String)>,
    /// The order to stop.
    pub stop_signal: CallStopSignal,
    /// The output of the function.
    pub output: CallOutputBuffer,
    pub(super) masks: SecretMasks,
    /// Secrets that are too short to be masked.
    pub(super) unmasked: Arc<[String]>,
    pub(super) running: RunningCommands,
    pub(super) threads: BlockingThreads,
    pub(super) values: OnceLock<Value>,
}

impl StepCall {
    /// Returns the result of a step that it needs, as `{"status": …, "outputs": …}`. Null if the run has no such step.
    pub fn need(&self, step: &str) -> &Value {
        static NULL: Value = Value::Null;
        let values = self.values.get_or_init(|| {
            let text = self.grant.values.as_deref();
            let values = text.and_then(|text| serde_json::from_str::<Value>(text).ok());
            values.map_or(Value::Null, |mut values| values["steps"].take())
        });
        values.get(step).unwrap_or(&NULL)
    }

    /// Returns a value that was passed with `with:`, if there is one.
    pub fn value(&self, name: &str) -> Option<Result<Value, String>> {
        let WorkAction::Call { with, .. } = &self.work.action else { return None };
        let (_, template) = with.iter().find(|(known, _)| known == name)?;
        Some(self.evaluated(template).map_err(|error| format!("`{name}`: {error}")))
    }

    fn evaluated(&self, template: &Template) -> Result<Value, String> {
        let scope = self.granted_work().scope();
        let value = match template.0.as_slice() {
            // A whole value keeps its type; a part of a text becomes text.
            [TemplatePiece::Expr(expression)] => expression.evaluate(&scope),
            _ => template.render(&scope).map(Value::String),
        };
        value.map_err(|error| error.to_string())
    }

    /// Returns the values of its matrix cell, by the names of their axes.
    pub fn cell(&self) -> Vec<(String, String)> {
        windlass_core::expand::cell_values(&self.grant.name, &self.work.axes)
    }

    /// Returns its work together with its grant.
    pub fn granted_work(&self) -> GrantedWork<'_> {
        GrantedWork { work: &self.work, grant: &self.grant }
    }

    /// Cancels its run, and writes the reason to the log.
    pub async fn cancel_run(&self, reason: &str) -> Result<(), LinkError> {
        self.output.push(format!("windlass: the run is cancelled: {reason}\n").as_bytes());
        let Some(link) = &self.services.link else {
            let (place, reason) = ("this worker".to_owned(), "it knows no leader".to_owned());
            return Err(LinkError::Denied { place, reason });
        };
        let began = Instant::now();
        loop {
            match link.cancel_run(self.grant.lease).await {
                Err(error) if !error.is_final() && began.elapsed() < CANCEL_WITHIN => {
                    sleep(CANCEL_PAUSE).await;
                }
                ended => return ended,
            }
        }
    }

    /// Keeps a result that is too large to travel with the outcome.
    pub async fn keep(&self, text: String) -> Result<StepOutput, String> {
        let kept = self.services.values.keep(log_id(&self.grant), text).await?;
        Ok(StepOutput::kept(kept))
    }

    /// Returns whether its result may stay in the memory of this worker. The steps that take it are then pinned to the
    /// leader too. Results of cells are gathered in a list and must travel.
    pub fn may_keep_in_memory(&self) -> bool {
        self.work.pinned && self.work.axes.is_empty()
    }

    /// Keeps its result in the memory of this worker.
    pub fn keep_in_memory(&self, value: InMemoryValue) -> StepOutput {
        let around = &self.services;
        let kept =
            around.values.keep_in_memory(log_id(&self.grant), &around.settings.worker, value);
        StepOutput::kept(kept)
    }

    /// Returns the result of a step that it needs if a worker kept that in memory, or why it is not here.
    pub fn kept_in_memory(&self, need: &Value) -> Result<Option<InMemoryValue>, String> {
        let kept = need.get("kept").and_then(|kept| LargeValueRef::deserialize(kept).ok());
        let Some(kept) = kept.filter(LargeValueRef::is_in_memory) else { return Ok(None) };
        let found = self.services.values.kept_in_memory(&kept);
        found.map(Some).ok_or_else(|| {
            let here = &self.services.settings.worker;
            format!(
                "it was {kept}, and is not in that of {here}: a step that takes it is pinned as well, and after a \
                 restart `rerun` makes it again"
            )
        })
    }

    /// Masks its secrets in a text.
    pub fn mask(&self, text: &str) -> String {
        if self.masks.is_empty() { text.to_owned() } else { self.masks.cover(text) }
    }

    /// Returns whether a text contains one of its secrets.
    pub fn holds_secret(&self, text: &str) -> bool {
        self.masks.find_in(text)
    }

    /// Runs a function that blocks on a thread of its own. The attempt is not over before that function has returned.
    pub async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        function: impl FnOnce() -> T + Send + 'static,
    ) -> std::thread::Result<T> {
        let here = self.threads.enter(self);
        let joined = tokio::task::spawn_blocking(move || {
            let returned = std::panic::catch_unwind(std::panic::AssertUnwindSafe(function));
            drop(here);
            returned
        });
        match joined.await {
            Ok(returned) => returned,
            // Only a runtime that ends cancels it.
            Err(error) => Err(Box::new(error.to_string())),
        }
    }
}

/// Threads that work for one attempt.
#[derive(Debug, Default)]
pub(super) struct BlockingThreads {
    count: AtomicUsize,
    left: Notify,
}

impl BlockingThreads {
    fn enter(&self, call: &Arc<StepCall>) -> BlockingThreadEntry {
        self.count.fetch_add(1, Ordering::AcqRel);
        BlockingThreadEntry(Arc::clone(call))
    }

    /// Waits until none is left.
    pub(super) async fn empty(&self) {
        loop {
            let left = self.left.notified();
            if self.count.load(Ordering::Acquire) == 0 {
                return;
            }
            left.await;
        }
    }
}

/// The registration of a thread that works for an attempt, while it does.
struct BlockingThreadEntry(Arc<StepCall>);

impl Drop for BlockingThreadEntry {
    fn drop(&mut self) {
        self.0.threads.count.fetch_sub(1, Ordering::AcqRel);
        self.0.threads.left.notify_waiters();
    }
}
