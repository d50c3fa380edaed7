//! The executor of shell scripts, programs and `noop`.

use std::future::ready;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::watch;
use windlass_core::environment::EnvironmentPolicy;
use windlass_core::expand::{GrantedWork, StepWork, WorkAction};
use windlass_core::id::{Fence, Incarnation, WorkerId};
use windlass_core::outcome::{Outcome, OutcomeKind, StepOutput};
use windlass_core::session::{LeaseGrant, OutcomeVerdict};
use windlass_core::trace::TraceParent;
use windlass_link::DeathNoticeConfig;
use windlass_link::output::LocalOutputLink;
use windlass_store::logs::LogStore;

use super::attempt_log::AttemptLog;
use super::attempt_workspace::AttemptWorkspaces;
use super::prepared_command::{CommandIdentity, PreparedCommand};
use super::process_attempt::ProcessAttempt;
use super::secrets::MaskCache;
use super::work_cache::WorkCache;
use crate::artifacts::{AttemptFilesError, ObjectAccess};
use crate::executor;
use crate::executor::{
    AttemptFuture, AttemptOrders, Executor, ExecutorBrokenFuture, StartQueueTurn,
};
use crate::guard::GuardHandle;
use crate::masks::SecretMasks;
use crate::values::{GatherError, InMemoryPolicy, ValueStore};

/// The outputs of `noop`: as much as a step with a small output has, so that it costs as much.
const NOOP_OUTPUT: &str = "{\"digest\":\"00000000000000000000000000000000\"}";

/// Where and how steps run.
#[derive(Clone, Debug)]
pub struct ExecutorSettings {
    /// The directory that steps start in.
    pub root: PathBuf,
    /// A directory for the files that steps write for windlass.
    pub scratch: PathBuf,
    /// The worker's name.
    pub worker: String,
    /// The worker's environment. A value that is not text is empty.
    pub environment: Vec<(String, String)>,
    /// Which of its variables steps inherit.
    pub policy: EnvironmentPolicy,
    /// The store of workspaces and artifacts.
    pub objects: ObjectAccess,
    /// The cached masks, and the warnings that were given about them.
    pub masks: MaskCache,
}

/// Runs scripts and programs under a guard, and `noop` at once.
#[derive(Clone, Debug)]
pub struct BuiltinExecutor {
    settings: Arc<ExecutorSettings>,
    guard: GuardHandle,
    logs: Arc<dyn LogStore>,
    /// The notice that the guard sends if this process dies.
    death_notice: Option<Arc<DeathNoticeConfig>>,
    traces: TracePropagation,
    values: Arc<ValueStore>,
    work_cache: Arc<WorkCache>,
    workspaces: Arc<AttemptWorkspaces>,
}

/// What steps receive of the trace that they are a part of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TracePropagation {
    /// Only the variables that the worker itself received.
    #[default]
    Inherited,
    /// The step's own span, in the trace of its run, or below a parent that all runs here have.
    Own(Option<TraceParent>),
}

impl BuiltinExecutor {
    /// Creates an executor that runs steps with these settings and writes their output to the logs.
    pub fn new(
        executor_settings: ExecutorSettings,
        guard: GuardHandle,
        logs: Arc<dyn LogStore>,
    ) -> Self {
        let values = Arc::new(ValueStore::new(Arc::new(LocalOutputLink(Arc::clone(&logs)))));
        let (settings, traces) = (Arc::new(executor_settings), TracePropagation::default());
        Self {
            settings,
            guard,
            logs,
            death_notice: None,
            traces,
            values,
            work_cache: Arc::default(),
            workspaces: Arc::default(),
        }
    }

    /// Reads large results of functions from this store instead of the log store.
    #[must_use]
    pub fn with_value_store(self, value_store: Arc<ValueStore>) -> Self {
        Self { values: value_store, ..self }
    }

    /// Has the guard report the end of this process with this notice. The executor fills in the worker and the
    /// incarnation that join.
    #[must_use]
    pub fn with_death_notice(self, notice: DeathNoticeConfig) -> Self {
        Self { death_notice: Some(Arc::new(notice)), ..self }
    }

    /// Sets the trace that steps continue.
    #[must_use]
    pub fn with_traces(self, traces: TracePropagation) -> Self {
        Self { traces, ..self }
    }

    fn begin(
        &self,
        grant: LeaseGrant,
        orders: watch::Receiver<AttemptOrders>,
        turn: Option<StartQueueTurn>,
    ) -> AttemptFuture {
        let it = self.clone();
        match self.work_cache.read(&grant.work) {
            // Kept separate, because the future of a process takes kilobytes.
            Ok(work) if work.action == WorkAction::Noop => Box::pin(ready(noop())),
            Ok(work) => Box::pin(it.run((grant, work), orders, turn)),
            Err(why) => Box::pin(async move { it.refuse(&grant, &why, orders).await }),
        }
    }

    async fn run(
        self,
        (grant, work): (LeaseGrant, Arc<StepWork>),
        orders: watch::Receiver<AttemptOrders>,
        turn: Option<StartQueueTurn>,
    ) -> Outcome {
        let grant = match self.values.gather(grant, orders.clone(), InMemoryPolicy::Refused).await {
            Ok(grant) => grant,
            Err((_, GatherError::Stopped)) if turn.is_some() => {
                return Outcome::plain(OutcomeKind::Released);
            }
            Err((_, GatherError::Stopped)) => return Outcome::plain(OutcomeKind::Cancelled),
            Err((grant, GatherError::Missing(why))) => {
                return self.refuse(&grant, &why, orders).await;
            }
        };
        let granted = GrantedWork { work: &work, grant: &grant };
        let workspace = match self.workspaces.prepare(granted, &self.settings, orders.clone()).await
        {
            Ok(workspace) => workspace,
            Err(error) => return self.end_without_files(&grant, error, (orders, turn)).await,
        };
        let identity = CommandIdentity {
            root: workspace.root(),
            settings: &self.settings,
            grant: &grant,
            traces: self.traces,
        };
        let outcome = match PreparedCommand::new(&work, identity) {
            Ok(prepared) => {
                let mut record =
                    AttemptLog::new(Arc::clone(&self.logs), &grant, prepared.masks.clone());
                record.warn(
                    self.settings.masks.unmasked_warning(grant.lease.run, &prepared.unmasked),
                );
                let guard = self.guard.clone();
                ProcessAttempt { guard, prepared, grant, orders, turn, record }.run().await
            }
            Err(reason) => self.refuse(&grant, &reason, orders).await,
        };
        workspace.remove();
        outcome
    }

    /// Ends an attempt that did not get its files.
    async fn end_without_files(
        &self,
        grant: &LeaseGrant,
        error: AttemptFilesError,
        (orders, turn): (watch::Receiver<AttemptOrders>, Option<StartQueueTurn>),
    ) -> Outcome {
        match error {
            AttemptFilesError::Stopped if turn.is_some() => Outcome::plain(OutcomeKind::Released),
            AttemptFilesError::Stopped => Outcome::plain(OutcomeKind::Cancelled),
            AttemptFilesError::Refused(why) => self.refuse(grant, &why, orders).await,
            AttemptFilesError::Unavailable(why) => {
                self.refuse(grant, &why, orders).await;
                Outcome::plain(OutcomeKind::Lost)
            }
        }
    }

    /// Fails an attempt that cannot begin, and writes the reason to its log.
    async fn refuse(
        &self,
        grant: &LeaseGrant,
        reason: &str,
        mut orders: watch::Receiver<AttemptOrders>,
    ) -> Outcome {
        let mut record = AttemptLog::new(Arc::clone(&self.logs), grant, SecretMasks::default());
        record.add_notice(reason);
        record.finish(&mut orders).await;
        Outcome::plain(OutcomeKind::Failed)
    }
}

fn noop() -> Outcome {
    Outcome { output: StepOutput::inline(NOOP_OUTPUT), ..Outcome::exit(0) }
}

impl Executor for BuiltinExecutor {
    fn start(&self, grant: LeaseGrant, orders: watch::Receiver<AttemptOrders>) -> AttemptFuture {
        self.begin(grant, orders, None)
    }

    fn can_queue(&self, grant: &LeaseGrant) -> bool {
        let is_process = |action: &WorkAction| {
            matches!(action, WorkAction::Exec { .. } | WorkAction::Script { .. })
        };
        // Files are prepared when the step has a slot: those of queued steps would fill the disk.
        let needs_files = |work: &StepWork| !work.workspace.is_here() || !work.fetch.is_empty();
        let can_queue = |work: Arc<StepWork>| is_process(&work.action) && !needs_files(&work);
        self.work_cache.read(&grant.work).is_ok_and(can_queue)
    }

    fn enqueue(
        &self,
        grant: LeaseGrant,
        orders: watch::Receiver<AttemptOrders>,
        turn: StartQueueTurn,
    ) -> AttemptFuture {
        self.begin(grant, orders, Some(turn))
    }

    fn broken(&self) -> ExecutorBrokenFuture {
        let guard = self.guard.clone();
        Box::pin(async move {
            guard.over().await;
            "the process that starts steps was killed, and its steps with it".to_owned()
        })
    }

    fn on_joined(
        &self,
        worker: WorkerId,
        incarnation: Incarnation,
    ) -> executor::ExecutorReadyFuture {
        let (guard, notice) = (self.guard.clone(), self.death_notice.clone());
        Box::pin(async move {
            if let Some(notice) = notice {
                guard
                    .set_death_notice(DeathNoticeConfig {
                        worker,
                        incarnation,
                        ..DeathNoticeConfig::clone(&notice)
                    })
                    .await;
            }
        })
    }

    fn on_verdicts(&self, verdicts: &[(Fence, OutcomeVerdict)]) {
        if self.death_notice.is_some() {
            self.guard.mark_judged(verdicts.iter().map(|(fence, _)| *fence));
        }
    }
}
