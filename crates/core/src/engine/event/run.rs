//! Events about runs.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::engine::event::RunProgress;
use crate::id::{Incarnation, RunId, StepIx, WorkerId};
use crate::outcome::{RunStatus, StepOutput};
use crate::plan::Plan;
use crate::time::Span;
use crate::word_set;

/// A run began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSubmitted {
    /// The run's id.
    pub run: RunId,
    /// The plan that the run executes.
    pub plan: Arc<Plan>,
    /// The options of the run.
    pub options: RunOptions,
    /// Outcomes that are reused from an earlier run.
    pub reused: Vec<ReusedOutcome>,
}

/// A run was ordered to end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunCancelled {
    /// The run's id.
    pub run: RunId,
    /// Whether running steps are stopped or killed.
    pub level: CancelLevel,
    /// Why the run ends.
    pub reason: CancelReason,
}

/// Every step of a run has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEnded {
    /// The run's id.
    pub run: RunId,
    /// The final status of the run.
    pub status: RunStatus,
}

/// A run that had ended left the engine; its history is in the archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSealed {
    /// The run's id.
    pub run: RunId,
}

/// The owner of a run has ended, and nothing of the run is left: it waits to be resumed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunInterrupted {
    /// The run's id.
    pub run: RunId,
}

/// An interrupted run continues under another owner. Its earlier events precede this one, in the journal or in the
/// archive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResumed {
    /// The run's id.
    pub run: RunId,
    /// The plan that the run executes.
    pub plan: Arc<Plan>,
    /// The options from now on: the timeout is the rest of it.
    pub options: RunOptions,
    /// The state in which the run continues.
    pub progress: RunProgress,
}

/// The options of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOptions {
    /// The first run of a chain of reruns; idempotency keys are derived from it. `None` stands for this run.
    pub root: Option<RunId>,
    /// Whether independent steps continue after a failure.
    pub keep_going: bool,
    /// What happens to a step that matches no worker.
    pub unplaceable: UnplaceablePolicy,
    /// The longest time that the run may take.
    pub timeout: Option<Span>,
    /// The worker of the process that started the run; `None` if the run belongs to no process.
    pub owner: Option<RunOwner>,
    /// The step inside which the run was started. A run that the engine does not have is ignored.
    pub parent: Option<ParentStep>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            root: None,
            keep_going: false,
            unplaceable: UnplaceablePolicy::Wait,
            timeout: None,
            owner: None,
            parent: None,
        }
    }
}

/// The step inside which a run was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParentStep {
    /// The run of the step.
    pub run: RunId,
    /// The step.
    pub step: StepIx,
}

/// The worker of the process that started a run. The run is interrupted when this incarnation of it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOwner {
    /// The worker.
    pub worker: WorkerId,
    /// Its incarnation.
    pub incarnation: Incarnation,
    /// Whether other workers may run the run's steps.
    pub shares: bool,
}

/// What happens to a step that matches no worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum UnplaceablePolicy {
    /// The step waits for a worker up to its own limit (a cluster).
    Wait,
    /// The step is skipped at once (one machine).
    Skip,
    /// The step fails at once (one machine, `--no-skip`).
    Fail,
}

/// A step whose outcome is reused from an earlier run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReusedOutcome {
    /// The step of this run.
    pub step: StepIx,
    /// The earlier run.
    pub from: RunId,
    /// The output that dependents get.
    pub output: StepOutput,
}

/// How the steps of a cancelled run end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum CancelLevel {
    /// Running steps are stopped with SIGTERM; `always()` steps still run.
    Stop,
    /// Running steps are killed, and no other step runs.
    Kill,
}

word_set!(CancelLevel { Stop => "stop", Kill => "kill" });

/// Why a run was ordered to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelReason {
    /// A client requested it.
    Asked,
    /// The deadline of the run passed.
    Deadline,
    /// The engine panicked while it decided on the run; the run ends so that the others can continue.
    Defect,
    /// An operator condemned the run, because the store could not be folded with it.
    Condemned,
}

word_set!(CancelReason {
    Asked => "asked",
    Deadline => "deadline",
    Defect => "defect",
    Condemned => "condemned",
});
