//! One worker of the test cluster: its session, and the processes that a test ends by hand.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_core::engine::EngineRequest;
use windlass_core::id::{Fence, Incarnation, RunId, StepIx, WorkerId};
use windlass_core::outcome::Outcome;
use windlass_core::planted_bugs::PlantedBugs;
use windlass_core::requirement::{Labels, WorkerScope};
use windlass_core::session::{
    ExchangeReply, FinishedAttempt, FormerIncarnationProof, LeaseRef, RegisterReply,
    RegisterRequest, SessionAction, SessionConfig, StopOrder, WorkerLocality, WorkerSession,
};
use windlass_core::time::Time;

/// More leases than the engine would ever grant ahead in these tests.
const CAPACITY: u32 = 1000;

/// A worker.
pub(crate) struct SessionWorker {
    pub(crate) id: WorkerId,
    pub(crate) incarnation: Incarnation,
    pub(crate) name: String,
    pub(crate) slots: u32,
    labels: Labels,
    locality: WorkerLocality,
    /// The runs that it serves.
    pub(crate) scope: WorkerScope,
    /// The proof about former incarnations that its next registration contains.
    pub(crate) former: FormerIncarnationProof,
    /// `None` when its process is dead.
    session: Option<WorkerSession>,
    spool: Vec<FinishedAttempt>,
    /// Whether its messages are lost.
    pub(crate) cut: bool,
    processes: BTreeMap<Fence, LeaseRef>,
    /// Every stop order that it received.
    pub(crate) stops: Vec<StopOrder>,
    /// The inputs of the newest lease of each step that reads other steps.
    pub(crate) values: Option<Arc<str>>,
}

impl SessionWorker {
    pub(crate) fn new(
        id: u64,
        name: &str,
        slots: u32,
        labels: &[&str],
        locality: WorkerLocality,
    ) -> Self {
        Self {
            id: WorkerId(id),
            incarnation: Incarnation(1),
            name: name.to_owned(),
            slots,
            labels: Labels::new(labels),
            locality,
            scope: WorkerScope::AllRuns,
            former: FormerIncarnationProof::Unknown,
            session: None,
            spool: Vec::new(),
            cut: false,
            processes: BTreeMap::new(),
            stops: Vec::new(),
            values: None,
        }
    }

    /// The same worker after a restart in place, with its unreported outcomes.
    pub(crate) fn next_incarnation(&self) -> Self {
        let spool = self.session.as_ref().map(WorkerSession::unacknowledged_outcomes);
        Self {
            id: self.id,
            incarnation: Incarnation(self.incarnation.0 + 1),
            name: self.name.clone(),
            slots: self.slots,
            labels: self.labels.clone(),
            locality: self.locality,
            scope: self.scope,
            former: FormerIncarnationProof::ProvenDead(vec![self.incarnation]),
            session: None,
            spool: spool.unwrap_or_else(|| self.spool.clone()),
            cut: false,
            processes: BTreeMap::new(),
            stops: Vec::new(),
            values: None,
        }
    }

    pub(crate) fn register(&self) -> RegisterRequest {
        RegisterRequest {
            worker: self.id,
            name: self.name.as_str().into(),
            incarnation: self.incarnation,
            labels: self.labels.clone(),
            slots: self.slots,
            locality: self.locality,
            scope: self.scope,
            former: self.former.clone(),
            spooled: self.spool.clone(),
        }
    }

    pub(crate) fn joined(&mut self, reply: &RegisterReply) {
        let config = SessionConfig {
            worker: self.id,
            incarnation: self.incarnation,
            slots: self.slots,
            capacity: CAPACITY,
            leases_expire: self.locality.leases_expire(),
            bugs: PlantedBugs::NONE,
        };
        self.spool.clear();
        self.session = Some(WorkerSession::new(config, reply));
    }

    pub(crate) fn session(&mut self) -> &mut WorkerSession {
        self.session.as_mut().expect("the worker's process lives")
    }

    /// Returns whether the reply is for the current incarnation and reaches it.
    pub(crate) fn is_at(&self, reply: &ExchangeReply) -> bool {
        (self.id, self.incarnation, self.cut) == (reply.worker, reply.incarnation, false)
    }

    pub(crate) fn take(&mut self, reply: ExchangeReply, now: Time) {
        let session = self.session.as_mut();
        let actions = session.map(|session| session.on_reply(reply, now));
        self.act(actions.unwrap_or_default());
    }

    pub(crate) fn tick(&mut self, now: Time) {
        let session = self.session.as_mut();
        let actions = session.map(|session| session.on_tick(now));
        self.act(actions.unwrap_or_default());
    }

    pub(crate) fn finish(&mut self, run: RunId, step: StepIx, outcome: Outcome, now: Time) {
        let mut processes = self.processes.values();
        let lease = processes.find(|lease| (lease.run, lease.step) == (run, step));
        let fence = lease.expect("the step runs on this worker").fence;
        self.processes.remove(&fence);
        let actions = self.session().on_finished([(fence, outcome)], now);
        self.act(actions);
    }

    fn act(&mut self, actions: Vec<SessionAction>) {
        for action in actions {
            match action {
                SessionAction::Start(grant) => {
                    let lease = grant.lease;
                    self.values = grant.values;
                    let twice = self.processes.insert(lease.fence, lease);
                    assert_eq!(twice, None, "a lease is started once");
                }
                SessionAction::Stop(stop) => self.stops.push(stop),
                SessionAction::Enqueue(_) | SessionAction::Withdraw(_) => {
                    unreachable!("no lease is queued here")
                }
            }
        }
    }

    /// Ends the process; outcomes without a verdict remain on its disk.
    pub(crate) fn kill(&mut self) {
        self.spool = self.session().unacknowledged_outcomes();
        self.session = None;
    }

    pub(crate) fn guard_ended(&self) -> EngineRequest {
        EngineRequest::GuardEnded {
            worker: self.id,
            incarnation: self.incarnation,
            started: self.processes.keys().copied().collect(),
        }
    }

    pub(crate) fn exchange_due(&self, now: Time) -> bool {
        let session = self.session.as_ref();
        session.is_some_and(|session| session.exchange_due(now))
    }

    pub(crate) fn next_deadline(&self) -> Option<Time> {
        self.session.as_ref()?.next_deadline()
    }

    /// Returns the running steps, oldest lease first.
    pub(crate) fn running(&self) -> impl Iterator<Item = (RunId, StepIx)> {
        self.processes.values().map(|lease| (lease.run, lease.step))
    }
}
