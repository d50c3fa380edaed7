//! The executor of shell scripts, programs and `noop`.

use std::future::ready;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::watch;
use windlass_core::environment::EnvironmentPolicy;
use windlass_core::expand::{Action, Work};
use windlass_core::id::{Fence, Incarnation, WorkerId};
use windlass_core::outcome::{Outcome, OutcomeKind, Output};
use windlass_core::session::{Grant, Verdict};
use windlass_core::trace::TraceParent;

use super::prepare::{Identity, Prepared};
use super::process::Process;
use super::record::Record;
use super::secrets::MaskCache;
use super::works::Works;
use crate::link::Will;
use crate::link::output::StoredOutput;
use crate::logs::LogStore;
use crate::worker::executor::{self, Attempt, Executor, Orders, Over, Turn};
use crate::worker::guard::Guard;
use crate::worker::masks::Masks;
use crate::worker::values::{Depot, InMemory, Ungathered};

/// What `noop` hands on: as much as a step with a small output does, so that it costs as much.
const NOOP_OUTPUT: &str = "{\"digest\":\"00000000000000000000000000000000\"}";

/// Where steps run.
#[derive(Clone, Debug)]
pub struct Place {
    /// The folder that they start in.
    pub root: PathBuf,
    /// A folder for what they write for windlass.
    pub scratch: PathBuf,
    /// The worker's name.
    pub worker: String,
    /// The worker's environment; a value that is no text is empty.
    pub environment: Vec<(String, String)>,
    /// What steps inherit of it.
    pub policy: EnvironmentPolicy,
    /// Masks that were made, and what was said about them.
    pub masks: MaskCache,
}

/// Runs scripts and programs under a guard, and `noop` at once.
#[derive(Clone, Debug)]
pub struct Builtin {
    place: Arc<Place>,
    guard: Guard,
    logs: Arc<dyn LogStore>,
    /// What the guard is to tell if this process dies.
    will: Option<Arc<Will>>,
    traces: Traces,
    depot: Arc<Depot>,
    works: Arc<Works>,
}

/// What steps are told of the trace that they are a part of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Traces {
    /// Nothing but what the worker itself was told.
    #[default]
    Inherited,
    /// Their own span, in the trace of their run, or in that of a parent of all runs here.
    Own(Option<TraceParent>),
}

impl Builtin {
    /// Runs steps at a place, with their output going to the logs.
    pub fn new(place: Place, guard: Guard, logs: Arc<dyn LogStore>) -> Self {
        let depot = Arc::new(Depot::new(Arc::new(StoredOutput(Arc::clone(&logs)))));
        let (place, traces) = (Arc::new(place), Traces::default());
        Self { place, guard, logs, will: None, traces, depot, works: Arc::default() }
    }

    /// Has large results of functions come from elsewhere than the logs.
    #[must_use]
    pub fn with_depot(self, depot: Arc<Depot>) -> Self {
        Self { depot, ..self }
    }

    /// Has the guard report the end of this process by this will, whose worker and life are those that join.
    #[must_use]
    pub fn with_will(self, will: Will) -> Self {
        Self { will: Some(Arc::new(will)), ..self }
    }

    /// Has steps know the span that theirs hang on.
    #[must_use]
    pub fn with_traces(self, traces: Traces) -> Self {
        Self { traces, ..self }
    }

    fn begin(&self, grant: Grant, orders: watch::Receiver<Orders>, turn: Option<Turn>) -> Attempt {
        let it = self.clone();
        match self.works.read(&grant.work) {
            // Apart, for what a process needs takes kilobytes.
            Ok(work) if work.action == Action::Noop => Box::pin(ready(noop())),
            Ok(work) => Box::pin(it.run((grant, work), orders, turn)),
            Err(why) => Box::pin(async move { it.refuse(&grant, &why, orders).await }),
        }
    }

    async fn run(
        self,
        (grant, work): (Grant, Arc<Work>),
        orders: watch::Receiver<Orders>,
        turn: Option<Turn>,
    ) -> Outcome {
        let grant = match self.depot.gather(grant, orders.clone(), InMemory::Refused).await {
            Ok(grant) => grant,
            Err((_, Ungathered::Stopped)) if turn.is_some() => {
                return Outcome::plain(OutcomeKind::Released);
            }
            Err((_, Ungathered::Stopped)) => return Outcome::plain(OutcomeKind::Cancelled),
            Err((grant, Ungathered::Missing(why))) => {
                return self.refuse(&grant, &why, orders).await;
            }
        };
        let identity = Identity { place: &self.place, grant: &grant, traces: self.traces };
        match Prepared::new(&work, identity) {
            Ok(prepared) => {
                let mut record =
                    Record::new(Arc::clone(&self.logs), &grant, prepared.masks.clone());
                record.warn(self.place.masks.unsaid(grant.lease.run, &prepared.unmasked));
                let guard = self.guard.clone();
                Process { guard, prepared, grant, orders, turn, record }.run().await
            }
            Err(reason) => self.refuse(&grant, &reason, orders).await,
        }
    }

    /// Fails an attempt that cannot begin, and says why where its output would be.
    async fn refuse(
        &self,
        grant: &Grant,
        reason: &str,
        mut orders: watch::Receiver<Orders>,
    ) -> Outcome {
        let mut record = Record::new(Arc::clone(&self.logs), grant, Masks::default());
        record.say(reason);
        record.finish(&mut orders).await;
        Outcome::plain(OutcomeKind::Failed)
    }
}

fn noop() -> Outcome {
    Outcome { output: Output::Inline(NOOP_OUTPUT.into()), ..Outcome::exit(0) }
}

impl Executor for Builtin {
    fn start(&self, grant: Grant, orders: watch::Receiver<Orders>) -> Attempt {
        self.begin(grant, orders, None)
    }

    fn lines_up(&self, grant: &Grant) -> bool {
        let is_process =
            |action: &Action| matches!(action, Action::Exec { .. } | Action::Script { .. });
        self.works.read(&grant.work).is_ok_and(|work| is_process(&work.action))
    }

    fn line_up(&self, grant: Grant, orders: watch::Receiver<Orders>, turn: Turn) -> Attempt {
        self.begin(grant, orders, Some(turn))
    }

    fn over(&self) -> Over {
        let guard = self.guard.clone();
        Box::pin(async move {
            guard.over().await;
            "the process that starts steps was killed, and its steps with it".to_owned()
        })
    }

    fn joined(&self, worker: WorkerId, incarnation: Incarnation) -> executor::Prepared {
        let (guard, will) = (self.guard.clone(), self.will.clone());
        Box::pin(async move {
            if let Some(will) = will {
                guard.leave_will(Will { worker, incarnation, ..Will::clone(&will) }).await;
            }
        })
    }

    fn judged(&self, verdicts: &[(Fence, Verdict)]) {
        if self.will.is_some() {
            self.guard.settle(verdicts.iter().map(|(fence, _)| *fence));
        }
    }
}
