//! A worker from its start to its end: it joins, works, and joins again if the leader has forgotten it.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use windlass_core::id::Incarnation;
use windlass_core::session::{
    FormerIncarnationProof, PeerWorkers, RegisterReply, RegisterRequest, WorkerRefusal,
};
use windlass_core::time::Time;
use windlass_link::{LinkError, WorkerLink};
use windlass_net::clock::ProcessClock;
use windlass_net::shutdown::ShutdownReceiver;

use super::backoff::ExchangeBackoff;
use super::exchange_loop::{ExchangeLoopEnd, WorkerExchangeLoop};
use super::executor::Executor;
use super::state_directory::{ClusterMembership, StateDirectoryError};

/// The reason why a worker ended without an order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkerError {
    /// The leader refuses the worker.
    #[error("the leader refuses this worker: {0}")]
    Refused(WorkerRefusal),
    /// The leader, or the broker on the way to it, denies the worker access.
    #[error(transparent)]
    Denied(LinkError),
    /// No leader has answered within the grace.
    #[error("no leader has answered for {} s: {last}", waited.as_secs())]
    NoLeader {
        /// How long the worker waited.
        waited: Duration,
        /// The last error.
        last: String,
    },
    /// The run is over, with this final status: there is nothing left to do.
    #[error("it is over: {0}")]
    Finished(String),
    /// The executor can run nothing any more.
    #[error("{0}")]
    Broken(String),
    /// The worker's state cannot be saved.
    #[error(transparent)]
    State(#[from] StateDirectoryError),
}

impl From<LinkError> for WorkerError {
    fn from(error: LinkError) -> Self {
        match error {
            LinkError::Finished(what) => Self::Finished(what),
            error => Self::Denied(error),
        }
    }
}

/// The orders by which a worker ends.
#[derive(Debug)]
pub struct WorkerShutdown {
    /// The order to take no more and finish what has started.
    pub drain: ShutdownReceiver,
    /// The order to kill all steps, report that, and end within seconds. Without it only the process can be killed.
    pub kill: Option<ShutdownReceiver>,
}

impl WorkerShutdown {
    /// Waits for the order to drain or a harder one.
    async fn any(&mut self) {
        tokio::select! {
            () = self.drain.wait() => {}
            () = wait_for(&mut self.kill) => {}
        }
    }
}

impl From<ShutdownReceiver> for WorkerShutdown {
    fn from(drain: ShutdownReceiver) -> Self {
        Self { drain, kill: None }
    }
}

/// A worker.
#[derive(Debug)]
pub struct WorkerRuntime {
    /// The registration of the worker.
    pub register: RegisterRequest,
    /// The maximum number of leases, running and ahead.
    pub capacity: u32,
    /// False if leader and worker end together.
    pub leases_expire: bool,
    /// Whether other workers share its leader.
    pub peers: PeerWorkers,
    /// The clock by which its leases are counted. Where they expire, it counts suspension.
    pub clock: ProcessClock,
    /// How long it continues without an answer of any leader. `None` for no limit.
    pub leader_grace: Option<Duration>,
    /// What it keeps from one incarnation to the next. `None` if it keeps nothing.
    pub membership: Option<Arc<ClusterMembership>>,
    /// The link to the leader.
    pub link: Arc<dyn WorkerLink>,
    /// The executor of its attempts.
    pub executor: Arc<dyn Executor>,
}

impl WorkerRuntime {
    /// Works until it is ordered to end. It first reports what an earlier incarnation could not report.
    pub async fn run(mut self, ends: impl Into<WorkerShutdown>) -> Result<(), WorkerError> {
        let mut ends = ends.into();
        if let Some(memory) = &self.membership {
            self.register.spooled.extend(memory.outcomes());
        }
        loop {
            let Some(reply) = self.join(&mut ends).await? else { return Ok(()) };
            let RegisterRequest { worker, incarnation, .. } = self.register;
            tokio::select! {
                () = ends.any() => return Ok(()),
                () = self.executor.on_joined(worker, incarnation) => {}
            }
            match WorkerExchangeLoop::begin(&self, &reply).run(&mut ends).await? {
                ExchangeLoopEnd::Done => return Ok(()),
                ExchangeLoopEnd::Forgotten { spooled } => {
                    self.begin_new_incarnation()?;
                    self.register.spooled = spooled;
                }
            }
        }
    }

    /// Registers, however long that takes. `None` if it is ordered to end before.
    async fn join(
        &mut self,
        ends: &mut WorkerShutdown,
    ) -> Result<Option<RegisterReply>, WorkerError> {
        let began = Instant::now();
        let mut backoff = self.backoff();
        let mut last = "it did not answer".to_owned();
        loop {
            let late = self.leader_deadline(began);
            let registered = tokio::select! {
                () = ends.any() => return Ok(None),
                () = sleep_until_or_never(late) => return Err(self.no_leader_error(last)),
                registered = self.link.register(self.register.clone()) => registered,
            };
            // A controller that does not lead will soon know the leader.
            let mut soon = !self.register.spooled.is_empty();
            match registered {
                Ok(Ok(reply)) => {
                    self.register.spooled.clear();
                    if let Some(memory) = &self.membership {
                        memory.forget_outcomes();
                    }
                    return Ok(Some(reply));
                }
                Ok(Err(refusal)) => return Err(WorkerError::Refused(refusal)),
                Err(LinkError::Revoked(_)) => {
                    return Err(WorkerError::Refused(WorkerRefusal::Revoked));
                }
                Err(error) if error.is_final() => return Err(error.into()),
                Err(error) => {
                    soon |= matches!(error, LinkError::NotLeader(_));
                    last = error.to_string();
                }
            }
            let again = Instant::now() + backoff.next(soon);
            tokio::select! {
                () = ends.any() => return Ok(None),
                () = sleep_until_or_never(late) => return Err(self.no_leader_error(last)),
                () = sleep_until(again) => {}
            }
        }
    }

    /// Returns when it has waited long enough for a leader that last answered at `heard`.
    ///
    /// It uses the runtime's clock, because no leader could answer while the machine slept.
    pub(super) fn leader_deadline(&self, heard: Instant) -> Option<Instant> {
        self.leader_grace.map(|grace| heard + grace)
    }

    pub(super) fn no_leader_error(&self, last: String) -> WorkerError {
        WorkerError::NoLeader { waited: self.leader_grace.unwrap_or_default(), last }
    }

    /// Returns the back-off of this worker, seeded with its id and incarnation.
    pub(super) const fn backoff(&self) -> ExchangeBackoff {
        ExchangeBackoff::new(self.register.worker.0 ^ self.register.incarnation.0)
    }

    /// Begins another incarnation of this process: nothing of the one before is left.
    fn begin_new_incarnation(&mut self) -> Result<(), WorkerError> {
        let before = self.register.incarnation;
        let again = match &self.membership {
            Some(memory) => memory.incarnations().begin_another(Time::from_millis(0))?,
            None => (Incarnation(before.0 + 1), FormerIncarnationProof::ProvenDead(vec![before])),
        };
        (self.register.incarnation, self.register.former) = again;
        Ok(())
    }
}

/// Waits for an order that may never come.
pub(super) async fn wait_for(order: &mut Option<ShutdownReceiver>) {
    match order {
        Some(order) => order.wait().await,
        None => pending().await,
    }
}

async fn sleep_until_or_never(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => pending().await,
    }
}
