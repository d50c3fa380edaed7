//! A worker from its start to its end: it joins, works, and joins anew where the leader has forgotten it.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use windlass_core::id::Incarnation;
use windlass_core::session::{
    FormerLifeProof, PeerWorkers, RegisterReply, RegisterRequest, WorkerRefusal,
};
use windlass_core::time::Time;
use windlass_link::{LinkError, WorkerLink};
use windlass_net::clock::ProcessClock;
use windlass_net::shutdown::ShutdownReceiver;

use super::backoff::ExchangeBackoff;
use super::exchange_loop::{ExchangeLoopEnd, WorkerExchangeLoop};
use super::executor::Executor;
use super::state_directory::{ClusterMembership, StateDirectoryError};

/// Why a worker ended before it was told to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkerError {
    /// The leader refuses it.
    #[error("the leader refuses this worker: {0}")]
    Refused(WorkerRefusal),
    /// Whoever is at the leader's place takes nothing from it.
    #[error(transparent)]
    Denied(LinkError),
    /// No leader has answered for as long as it was to wait.
    #[error("no leader has answered for {} s: {last}", waited.as_secs())]
    NoLeader {
        /// How long.
        waited: Duration,
        /// What went wrong last.
        last: String,
    },
    /// Everything that there was to do is done.
    #[error("it is over: {0}")]
    Finished(String),
    /// Its executor can run nothing any more.
    #[error("{0}")]
    Broken(String),
    /// What it has to remember cannot be kept.
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

/// How a worker is told to end.
#[derive(Debug)]
pub struct WorkerShutdown {
    /// It takes no more, and finishes what it has.
    pub drain: ShutdownReceiver,
    /// It kills what it has, reports that, and ends, within seconds. Without it only its process can be.
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
    /// Who it says it is.
    pub register: RegisterRequest,
    /// The most leases that it takes, running and ahead.
    pub capacity: u32,
    /// False where leader and worker share one fate.
    pub leases_expire: bool,
    /// Who else works for its leader.
    pub peers: PeerWorkers,
    /// By what its leases are counted: where they expire, a clock that counts suspension.
    pub clock: ProcessClock,
    /// How long it goes on without an answer of any leader; for ever without.
    pub leader_grace: Option<Duration>,
    /// What it remembers from one life to the next; where nothing is to be remembered, nothing.
    pub membership: Option<Arc<ClusterMembership>>,
    /// The way to the leader.
    pub link: Arc<dyn WorkerLink>,
    /// What runs its attempts.
    pub executor: Arc<dyn Executor>,
}

impl WorkerRuntime {
    /// Works until it is told to end. What an earlier life could not report is reported first.
    pub async fn run(mut self, ends: impl Into<WorkerShutdown>) -> Result<(), WorkerError> {
        let mut ends = ends.into();
        if let Some(memory) = &self.membership {
            self.register.spooled.extend(memory.outcomes());
        }
        loop {
            let Some(told) = self.join(&mut ends).await? else { return Ok(()) };
            let RegisterRequest { worker, incarnation, .. } = self.register;
            tokio::select! {
                () = ends.any() => return Ok(()),
                () = self.executor.on_joined(worker, incarnation) => {}
            }
            match WorkerExchangeLoop::begin(&self, &told).run(&mut ends).await? {
                ExchangeLoopEnd::Done => return Ok(()),
                ExchangeLoopEnd::Forgotten { spooled } => {
                    self.begin_new_life()?;
                    self.register.spooled = spooled;
                }
            }
        }
    }

    /// Registers, however long that takes. `None` if it is told to end before.
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
            // Who says that it does not lead knows soon who does.
            let mut soon = !self.register.spooled.is_empty();
            match registered {
                Ok(Ok(told)) => {
                    self.register.spooled.clear();
                    if let Some(memory) = &self.membership {
                        memory.forget_outcomes();
                    }
                    return Ok(Some(told));
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

    /// When it has waited long enough for a leader that was heard then.
    ///
    /// By the runtime's clock: while the machine slept nobody could have answered.
    pub(super) fn leader_deadline(&self, heard: Instant) -> Option<Instant> {
        self.leader_grace.map(|grace| heard + grace)
    }

    pub(super) fn no_leader_error(&self, last: String) -> WorkerError {
        WorkerError::NoLeader { waited: self.leader_grace.unwrap_or_default(), last }
    }

    /// Pauses that are this worker's own.
    pub(super) const fn backoff(&self) -> ExchangeBackoff {
        ExchangeBackoff::new(self.register.worker.0 ^ self.register.incarnation.0)
    }

    /// Begins another life of this process: nothing of the one before is left.
    fn begin_new_life(&mut self) -> Result<(), WorkerError> {
        let before = self.register.incarnation;
        let again = match &self.membership {
            Some(memory) => memory.lives().begin_another(Time::from_millis(0))?,
            None => (Incarnation(before.0 + 1), FormerLifeProof::ProvenDead(vec![before])),
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
