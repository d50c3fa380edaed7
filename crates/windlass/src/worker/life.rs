//! A worker from its start to its end: it joins, works, and joins anew where the leader has forgotten it.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use windlass_core::id::Incarnation;
use windlass_core::session::{FormerLife, Refusal, Register, Registered};
use windlass_core::time::Time;

use super::backoff::Backoff;
use super::exchanges::{Left, Shift};
use super::executor::Executor;
use super::state::{Membership, StateError};
use crate::clock::Clock;
use crate::link::{Link, LinkError};
use crate::shutdown::Shutdown;

/// Why a worker ended before it was told to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// The leader refuses it.
    #[error("the leader refuses this worker: {0}")]
    Refused(Refusal),
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
    Over(String),
    /// Its executor can run nothing any more.
    #[error("{0}")]
    Broken(String),
    /// What it has to remember cannot be kept.
    #[error(transparent)]
    State(#[from] StateError),
}

impl From<LinkError> for WorkerError {
    fn from(error: LinkError) -> Self {
        match error {
            LinkError::Over(what) => Self::Over(what),
            error => Self::Denied(error),
        }
    }
}

/// How a worker is told to end.
#[derive(Debug)]
pub struct Ends {
    /// It takes no more, and finishes what it has.
    pub drain: Shutdown,
    /// It kills what it has, reports that, and ends, within seconds. Without it only its process can be.
    pub kill: Option<Shutdown>,
}

impl Ends {
    /// Waits for the order to drain or a harder one.
    async fn any(&mut self) {
        tokio::select! {
            () = self.drain.wait() => {}
            () = wait_for(&mut self.kill) => {}
        }
    }
}

impl From<Shutdown> for Ends {
    fn from(drain: Shutdown) -> Self {
        Self { drain, kill: None }
    }
}

/// Who works for the same leader as a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// Nobody, and nobody will: what becomes ready could run nowhere else, so its news can wait longer.
    Nobody,
    /// Others, or others may come.
    Others,
}

/// A worker.
#[derive(Debug)]
pub struct Worker {
    /// Who it says it is.
    pub register: Register,
    /// The most leases that it takes, running and ahead.
    pub capacity: u32,
    /// False where leader and worker share one fate.
    pub leases_expire: bool,
    /// Who else works for its leader.
    pub beside: Beside,
    /// By what its leases are counted: where they expire, a clock that counts suspension.
    pub clock: Clock,
    /// How long it goes on without an answer of any leader; for ever without.
    pub leader_grace: Option<Duration>,
    /// What it remembers from one life to the next; where nothing is to be remembered, nothing.
    pub memory: Option<Arc<Membership>>,
    /// The way to the leader.
    pub link: Arc<dyn Link>,
    /// What runs its attempts.
    pub executor: Arc<dyn Executor>,
}

impl Worker {
    /// A worker in its leader's process, whose fate it shares.
    pub fn in_process(
        register: Register,
        capacity: u32,
        link: Arc<dyn Link>,
        executor: Arc<dyn Executor>,
    ) -> Self {
        Self {
            register,
            capacity,
            leases_expire: false,
            beside: Beside::Others,
            clock: Clock::of_runtime(),
            leader_grace: None,
            memory: None,
            link,
            executor,
        }
    }

    /// Works until it is told to end. What an earlier life could not report is reported first.
    pub async fn run(mut self, ends: impl Into<Ends>) -> Result<(), WorkerError> {
        let mut ends = ends.into();
        if let Some(memory) = &self.memory {
            self.register.spooled.extend(memory.outcomes());
        }
        loop {
            let Some(told) = self.join(&mut ends).await? else { return Ok(()) };
            let Register { worker, incarnation, .. } = self.register;
            tokio::select! {
                () = ends.any() => return Ok(()),
                () = self.executor.joined(worker, incarnation) => {}
            }
            match Shift::begin(&self, &told).run(&mut ends).await? {
                Left::Done => return Ok(()),
                Left::Forgotten { spooled } => {
                    self.live_again()?;
                    self.register.spooled = spooled;
                }
            }
        }
    }

    /// Registers, however long that takes. `None` if it is told to end before.
    async fn join(&mut self, ends: &mut Ends) -> Result<Option<Registered>, WorkerError> {
        let began = Instant::now();
        let mut backoff = self.backoff();
        let mut last = "it did not answer".to_owned();
        loop {
            let late = self.late(began);
            let registered = tokio::select! {
                () = ends.any() => return Ok(None),
                () = at(late) => return Err(self.no_leader(last)),
                registered = self.link.register(self.register.clone()) => registered,
            };
            // Who says that it does not lead knows soon who does.
            let mut soon = !self.register.spooled.is_empty();
            match registered {
                Ok(Ok(told)) => {
                    self.register.spooled.clear();
                    if let Some(memory) = &self.memory {
                        memory.forget_outcomes();
                    }
                    return Ok(Some(told));
                }
                Ok(Err(refusal)) => return Err(WorkerError::Refused(refusal)),
                Err(LinkError::Revoked(_)) => return Err(WorkerError::Refused(Refusal::Revoked)),
                Err(error) if error.is_final() => return Err(error.into()),
                Err(error) => {
                    soon |= matches!(error, LinkError::NotLeader(_));
                    last = error.to_string();
                }
            }
            let again = Instant::now() + backoff.next(soon);
            tokio::select! {
                () = ends.any() => return Ok(None),
                () = at(late) => return Err(self.no_leader(last)),
                () = sleep_until(again) => {}
            }
        }
    }

    /// When it has waited long enough for a leader that was heard then.
    ///
    /// By the runtime's clock: while the machine slept nobody could have answered.
    pub(super) fn late(&self, heard: Instant) -> Option<Instant> {
        self.leader_grace.map(|grace| heard + grace)
    }

    pub(super) fn no_leader(&self, last: String) -> WorkerError {
        WorkerError::NoLeader { waited: self.leader_grace.unwrap_or_default(), last }
    }

    /// Pauses that are this worker's own.
    pub(super) const fn backoff(&self) -> Backoff {
        Backoff::new(self.register.worker.0 ^ self.register.incarnation.0)
    }

    /// Begins another life of this process: nothing of the one before is left.
    fn live_again(&mut self) -> Result<(), WorkerError> {
        let before = self.register.incarnation;
        let again = match &self.memory {
            Some(memory) => memory.lives().begin_another(Time::from_millis(0))?,
            None => (Incarnation(before.0 + 1), FormerLife::ProvenDead(vec![before])),
        };
        (self.register.incarnation, self.register.former) = again;
        Ok(())
    }
}

/// Waits for an order that may never come.
pub(super) async fn wait_for(order: &mut Option<Shutdown>) {
    match order {
        Some(order) => order.wait().await,
        None => pending().await,
    }
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => pending().await,
    }
}
