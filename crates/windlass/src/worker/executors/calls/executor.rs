//! The executor of functions, in front of the one of everything else.

use std::fmt;
use std::sync::{Arc, OnceLock};

use tokio::runtime::Handle;
use tokio::sync::{OnceCell, watch};
use windlass_core::expand::{Action, Work};
use windlass_core::failure::{Failure, FailureKind};
use windlass_core::id::{Fence, Incarnation, WorkerId};
use windlass_core::outcome::{Outcome, OutcomeKind};
use windlass_core::session::{Deadline, Grant, Verdict};

use super::attempt::CallAttempt;
use super::call::{Call, Callee, Callees, Surroundings, Threads};
use super::command::Running;
use super::halt::Halt;
use super::lines::Lines;
use super::panics;
use crate::link::Link;
use crate::link::output::StoredOutput;
use crate::logs::LogStore;
use crate::worker::executor::{Attempt, Executor, Orders, Over, Prepared, Turn};
use crate::worker::executors::record::Record;
use crate::worker::executors::secrets::RunMasks;
use crate::worker::executors::works::Works;
use crate::worker::executors::{Place, Traces};
use crate::worker::guard::{Guard, GuardLost, HeldStep};
use crate::worker::masks::Masks;
use crate::worker::values::{Depot, InMemory, Ungathered};

/// Calls functions; what is no call is for the executor behind it.
#[derive(Clone, Debug)]
pub struct CallExecutor {
    callees: Arc<Callees>,
    around: Arc<Surroundings>,
    behind: Option<Arc<dyn Executor>>,
    works: Arc<Works>,
}

impl CallExecutor {
    /// Calls these functions at a place, with what they say going to the logs.
    pub fn new(callees: Callees, place: Place, guards: Guards, logs: Arc<dyn LogStore>) -> Self {
        panics::listen();
        let depot = Arc::new(Depot::new(Arc::new(StoredOutput(Arc::clone(&logs)))));
        let (link, traces) = (None, Traces::default());
        let around = Surroundings { place, guards, logs, depot, link, traces };
        let (callees, around) = (Arc::new(callees), Arc::new(around));
        Self { callees, around, behind: None, works: Arc::default() }
    }

    /// Has commands of steps know the span that theirs hang on.
    #[must_use]
    pub fn with_traces(self, traces: Traces) -> Self {
        self.amid(|around| around.traces = traces)
    }

    /// Has steps tell their leader this way what they want.
    #[must_use]
    pub fn with_link(self, link: Arc<dyn Link>) -> Self {
        self.amid(|around| around.link = Some(link))
    }

    /// Has large results kept elsewhere than with the logs.
    #[must_use]
    pub fn with_depot(self, depot: Arc<Depot>) -> Self {
        self.amid(|around| around.depot = depot)
    }

    fn amid(mut self, change: impl FnOnce(&mut Surroundings)) -> Self {
        change(Arc::make_mut(&mut self.around));
        self
    }

    /// Has another executor do what is no call.
    #[must_use]
    pub fn before(self, behind: Arc<dyn Executor>) -> Self {
        Self { behind: Some(behind), ..self }
    }

    fn is_called(&self, action: &Action) -> bool {
        matches!(action, Action::Call { .. }) || self.callees.shell_of(action).is_some()
    }

    /// The function that is wanted, or why it cannot be called here.
    fn callee(&self, action: &Action) -> Result<Arc<dyn Callee>, String> {
        if let Some(executor) = self.callees.shell_of(action) {
            return Ok(Arc::clone(executor));
        }
        let Action::Call { name, signature, .. } = action else {
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

    /// What the attempt is given, or why it cannot begin.
    fn given(&self, work: &Work) -> Result<Given, String> {
        let callee = self.callee(&work.action)?;
        let secrets = self.around.place.secrets(work)?;
        let RunMasks { masks, unmasked } = self.around.place.masks(work)?;
        Ok(Given { callee, secrets, masks, unmasked, runtime: self.callees.runtime.clone() })
    }

    fn begin(&self, grant: Grant, work: Arc<Work>, orders: watch::Receiver<Orders>) -> Attempt {
        let around = Arc::clone(&self.around);
        match self.given(&work) {
            Ok(given) => Box::pin(run(around, given, (grant, work), orders)),
            Err(why) => Box::pin(async move { refused(&around.logs, &grant, why, orders).await }),
        }
    }
}

async fn run(
    around: Arc<Surroundings>,
    given: Given,
    (grant, work): (Grant, Arc<Work>),
    orders: watch::Receiver<Orders>,
) -> Outcome {
    let grant = match around.depot.gather(grant, orders.clone(), InMemory::Taken).await {
        Ok(grant) => grant,
        Err((_, Ungathered::Stopped)) => return Outcome::plain(OutcomeKind::Cancelled),
        Err((grant, Ungathered::Missing(why))) => {
            return refused(&around.logs, &grant, why, orders).await;
        }
    };
    let Given { callee, secrets, masks, unmasked, runtime } = given;
    let call = Arc::new(Call {
        grant,
        work,
        around,
        secrets,
        masks,
        unmasked,
        halt: Halt::default(),
        lines: Lines::default(),
        running: Running::default(),
        threads: Threads::default(),
        values: OnceLock::new(),
    });
    CallAttempt { callee, call, orders, runtime }.run().await
}

/// What an attempt begins with.
struct Given {
    callee: Arc<dyn Callee>,
    secrets: Vec<(String, String)>,
    masks: Masks,
    unmasked: Arc<[String]>,
    runtime: Option<Handle>,
}

/// Fails an attempt that cannot begin, and says why where its lines would be.
async fn refused(
    logs: &Arc<dyn LogStore>,
    grant: &Grant,
    why: String,
    mut orders: watch::Receiver<Orders>,
) -> Outcome {
    let mut record = Record::new(Arc::clone(logs), grant, Masks::default());
    record.say(&why);
    record.finish(&mut orders).await;
    let output = Failure::new(FailureKind::Refused, why).to_output();
    Outcome { output, ..Outcome::plain(OutcomeKind::Failed) }
}

impl Executor for CallExecutor {
    fn start(&self, grant: Grant, orders: watch::Receiver<Orders>) -> Attempt {
        let work = self.works.read(&grant.work);
        match (work, &self.behind) {
            (Ok(work), _) if self.is_called(&work.action) => self.begin(grant, work, orders),
            (_, Some(behind)) => behind.start(grant, orders),
            (Ok(work), None) => self.begin(grant, work, orders),
            (Err(why), None) => {
                let logs = Arc::clone(&self.around.logs);
                Box::pin(async move { refused(&logs, &grant, why, orders).await })
            }
        }
    }

    fn lines_up(&self, grant: &Grant) -> bool {
        let Some(behind) = &self.behind else { return false };
        let called = self.works.read(&grant.work).is_ok_and(|work| self.is_called(&work.action));
        !called && behind.lines_up(grant)
    }

    fn line_up(&self, grant: Grant, orders: watch::Receiver<Orders>, turn: Turn) -> Attempt {
        match &self.behind {
            Some(behind) if self.lines_up(&grant) => behind.line_up(grant, orders, turn),
            _ => self.start(grant, orders),
        }
    }

    fn over(&self) -> Over {
        match &self.behind {
            Some(behind) => behind.over(),
            None => Box::pin(std::future::pending()),
        }
    }

    fn joined(&self, worker: WorkerId, incarnation: Incarnation) -> Prepared {
        match &self.behind {
            Some(behind) => behind.joined(worker, incarnation),
            None => Box::pin(std::future::ready(())),
        }
    }

    fn judged(&self, verdicts: &[(Fence, Verdict)]) {
        if let Some(behind) = &self.behind {
            behind.judged(verdicts);
        }
    }
}

/// By when a step must be over, if it must.
pub(super) fn deadline(grant: &Grant, orders: &Orders) -> Option<Deadline> {
    orders.deadline.filter(|_| grant.stops_on_lost_contact)
}

/// Where the guard of commands comes from.
#[derive(Clone)]
pub enum Guards {
    /// It is there.
    Ready(Guard),
    /// It is there, and is told of every step: if the worker dies it says what had begun, and if a step does not end in time
    /// it ends the worker.
    Watching(Guard),
    /// It is started for the first command.
    Later(Arc<OnceCell<Guard>>),
}

impl Guards {
    /// One that is started for the first command.
    pub fn later() -> Self {
        Self::Later(Arc::new(OnceCell::new()))
    }

    pub(super) async fn get(&self) -> std::io::Result<Guard> {
        match self {
            Self::Ready(guard) | Self::Watching(guard) => Ok(guard.clone()),
            Self::Later(cell) => cell.get_or_try_init(Guard::start).await.cloned(),
        }
    }

    /// Tells the guard of a step that begins, where it is to know.
    pub(super) async fn hold(&self, grant: &Grant, orders: &Orders) -> Option<HeldStep> {
        let Self::Watching(guard) = self else { return None };
        match guard.hold(grant.lease.fence, deadline(grant, orders)).await {
            Ok(held) => Some(held),
            // Without a guard the worker is at its end too: nothing begins any more.
            Err(GuardLost) => std::future::pending().await,
        }
    }

    /// The guard, if there is one by now.
    pub(super) fn present(&self) -> Option<&Guard> {
        match self {
            Self::Ready(guard) | Self::Watching(guard) => Some(guard),
            Self::Later(cell) => cell.get(),
        }
    }
}

impl fmt::Debug for Guards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Guards").field(&self.present().map(Guard::pid)).finish()
    }
}
