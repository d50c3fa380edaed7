//! The executor of functions, in front of the executor of everything else.

use std::sync::{Arc, OnceLock};

use tokio::runtime::Handle;
use tokio::sync::watch;
use windlass_core::expand::{StepWork, WorkAction};
use windlass_core::id::{Fence, Incarnation, WorkerId};
use windlass_core::outcome::{Outcome, OutcomeKind};
use windlass_core::session::{ContactDeadline, LeaseGrant, OutcomeVerdict};
use windlass_core::step_failure::{StepFailure, StepFailureKind};
use windlass_link::WorkerLink;
use windlass_link::output::LocalOutputLink;
use windlass_store::logs::LogStore;

use super::call_attempt::CallAttempt;
use super::callee_registry::{Callee, CalleeRegistry};
use super::guard_source::GuardSource;
use super::guarded_command::RunningCommands;
use super::output_buffer::CallOutputBuffer;
use super::panics;
use super::step_call::{BlockingThreads, CallServices, StepCall};
use super::stop_signal::CallStopSignal;
use crate::executor::{
    AttemptFuture, AttemptOrders, Executor, ExecutorBrokenFuture, ExecutorReadyFuture,
    StartQueueTurn,
};
use crate::executors::attempt_log::AttemptLog;
use crate::executors::secrets::StepMasks;
use crate::executors::work_cache::WorkCache;
use crate::executors::{ExecutorSettings, TracePropagation};
use crate::masks::SecretMasks;
use crate::values::{GatherError, InMemoryPolicy, ValueStore};

/// Calls functions. Work that is not a call goes to the fallback executor.
#[derive(Clone, Debug)]
pub struct CallExecutor {
    callees: Arc<CalleeRegistry>,
    services: Arc<CallServices>,
    fallback: Option<Arc<dyn Executor>>,
    work_cache: Arc<WorkCache>,
}

impl CallExecutor {
    /// Creates an executor that calls these functions with these settings and writes their output to the logs.
    pub fn new(
        callees: CalleeRegistry,
        settings: ExecutorSettings,
        guards: GuardSource,
        logs: Arc<dyn LogStore>,
    ) -> Self {
        panics::install_hook();
        let value_store = Arc::new(ValueStore::new(Arc::new(LocalOutputLink(Arc::clone(&logs)))));
        let (link, traces) = (None, TracePropagation::default());
        let around = CallServices {
            settings,
            guard_source: guards,
            logs,
            values: value_store,
            link,
            traces,
        };
        let (callees, services) = (Arc::new(callees), Arc::new(around));
        Self { callees, services, fallback: None, work_cache: Arc::default() }
    }

    /// Sets the trace that commands of steps continue.
    #[must_use]
    pub fn with_traces(self, traces: TracePropagation) -> Self {
        self.with_services(|around| around.traces = traces)
    }

    /// Sets the link by which steps send requests to their leader.
    #[must_use]
    pub fn with_link(self, link: Arc<dyn WorkerLink>) -> Self {
        self.with_services(|around| around.link = Some(link))
    }

    /// Keeps large results in this store instead of the log store.
    #[must_use]
    pub fn with_value_store(self, value_store: Arc<ValueStore>) -> Self {
        self.with_services(|around| around.values = value_store)
    }

    fn with_services(mut self, change: impl FnOnce(&mut CallServices)) -> Self {
        change(Arc::make_mut(&mut self.services));
        self
    }

    /// Sets the executor of work that is not a call.
    #[must_use]
    pub fn with_fallback(self, behind: Arc<dyn Executor>) -> Self {
        Self { fallback: Some(behind), ..self }
    }

    fn is_called(&self, action: &WorkAction) -> bool {
        matches!(action, WorkAction::Call { .. }) || self.callees.shell_of(action).is_some()
    }

    /// Returns the requested function, or why it cannot be called here.
    fn callee(&self, action: &WorkAction) -> Result<Arc<dyn Callee>, String> {
        if let Some(executor) = self.callees.shell_of(action) {
            return Ok(Arc::clone(executor));
        }
        let WorkAction::Call { name, signature, .. } = action else {
            return Err("this worker only calls steps that are compiled in".to_owned());
        };
        let callee = self.callees.get(name);
        let callee =
            callee.ok_or_else(|| format!("no step `{name}` is compiled into this worker"))?;
        match signature {
            Some(wanted) if wanted != callee.signature() => Err(format!(
                "the run was planned with `{name}@{wanted}`, and this worker has `{name}@{}`: \
                 it is of another build, with other types",
                callee.signature()
            )),
            _ => Ok(Arc::clone(callee)),
        }
    }

    /// Returns the input of the attempt, or why it cannot begin.
    fn prepare(&self, work: &StepWork) -> Result<PreparedCall, String> {
        let callee = self.callee(&work.action)?;
        let secrets = self.services.settings.secrets(work)?;
        let StepMasks { masks, unmasked } = self.services.settings.masks(work)?;
        Ok(PreparedCall { callee, secrets, masks, unmasked, runtime: self.callees.runtime.clone() })
    }

    fn begin(
        &self,
        grant: LeaseGrant,
        work: Arc<StepWork>,
        orders: watch::Receiver<AttemptOrders>,
    ) -> AttemptFuture {
        let around = Arc::clone(&self.services);
        match self.prepare(&work) {
            Ok(given) => Box::pin(run(around, given, (grant, work), orders)),
            Err(why) => {
                Box::pin(async move { failed_to_begin(&around.logs, &grant, why, orders).await })
            }
        }
    }
}

async fn run(
    around: Arc<CallServices>,
    given: PreparedCall,
    (grant, work): (LeaseGrant, Arc<StepWork>),
    orders: watch::Receiver<AttemptOrders>,
) -> Outcome {
    let grant = match around.values.gather(grant, orders.clone(), InMemoryPolicy::Taken).await {
        Ok(grant) => grant,
        Err((_, GatherError::Stopped)) => return Outcome::plain(OutcomeKind::Cancelled),
        Err((grant, GatherError::Missing(why))) => {
            return failed_to_begin(&around.logs, &grant, why, orders).await;
        }
    };
    let PreparedCall { callee, secrets, masks, unmasked, runtime } = given;
    let call = Arc::new(StepCall {
        grant,
        work,
        services: around,
        secrets,
        masks,
        unmasked,
        stop_signal: CallStopSignal::default(),
        output: CallOutputBuffer::default(),
        running: RunningCommands::default(),
        threads: BlockingThreads::default(),
        values: OnceLock::new(),
    });
    CallAttempt { callee, call, orders, runtime }.run().await
}

/// The input of an attempt.
struct PreparedCall {
    callee: Arc<dyn Callee>,
    secrets: Vec<(String, String)>,
    masks: SecretMasks,
    unmasked: Arc<[String]>,
    runtime: Option<Handle>,
}

/// Fails an attempt that cannot begin, and writes the reason to its log.
async fn failed_to_begin(
    logs: &Arc<dyn LogStore>,
    grant: &LeaseGrant,
    why: String,
    mut orders: watch::Receiver<AttemptOrders>,
) -> Outcome {
    let mut record = AttemptLog::new(Arc::clone(logs), grant, SecretMasks::default());
    record.add_notice(&why);
    record.finish(&mut orders).await;
    let output = StepFailure::new(StepFailureKind::Refused, why).to_output();
    Outcome { output, ..Outcome::plain(OutcomeKind::Failed) }
}

impl Executor for CallExecutor {
    fn start(&self, grant: LeaseGrant, orders: watch::Receiver<AttemptOrders>) -> AttemptFuture {
        let work = self.work_cache.read(&grant.work);
        match (work, &self.fallback) {
            (Ok(work), _) if self.is_called(&work.action) => self.begin(grant, work, orders),
            (_, Some(behind)) => behind.start(grant, orders),
            (Ok(work), None) => self.begin(grant, work, orders),
            (Err(why), None) => {
                let logs = Arc::clone(&self.services.logs);
                Box::pin(async move { failed_to_begin(&logs, &grant, why, orders).await })
            }
        }
    }

    fn can_queue(&self, grant: &LeaseGrant) -> bool {
        let Some(behind) = &self.fallback else { return false };
        let called =
            self.work_cache.read(&grant.work).is_ok_and(|work| self.is_called(&work.action));
        !called && behind.can_queue(grant)
    }

    fn enqueue(
        &self,
        grant: LeaseGrant,
        orders: watch::Receiver<AttemptOrders>,
        turn: StartQueueTurn,
    ) -> AttemptFuture {
        match &self.fallback {
            Some(behind) if self.can_queue(&grant) => behind.enqueue(grant, orders, turn),
            _ => self.start(grant, orders),
        }
    }

    fn broken(&self) -> ExecutorBrokenFuture {
        match &self.fallback {
            Some(behind) => behind.broken(),
            None => Box::pin(std::future::pending()),
        }
    }

    fn on_joined(&self, worker: WorkerId, incarnation: Incarnation) -> ExecutorReadyFuture {
        match &self.fallback {
            Some(behind) => behind.on_joined(worker, incarnation),
            None => Box::pin(std::future::ready(())),
        }
    }

    fn on_verdicts(&self, verdicts: &[(Fence, OutcomeVerdict)]) {
        if let Some(behind) = &self.fallback {
            behind.on_verdicts(verdicts);
        }
    }
}

/// Returns when a step must be over, if it must.
pub(super) fn deadline(grant: &LeaseGrant, orders: &AttemptOrders) -> Option<ContactDeadline> {
    orders.deadline.filter(|_| grant.stops_on_lost_contact)
}
