//! The worker's side: a guard, and the steps that it holds.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch};
use windlass_core::id::Fence;
use windlass_core::session::{ContactDeadline, StopMode};
use windlass_core::start_queue::StartQueueLimits;
use windlass_core::time::{Span, Time};
use windlass_link::DeathNoticeConfig;

use super::entry::{self, GuardRole};
use super::guard_link::{GuardLink, GuardedStepState};
use super::guard_protocol::{GuardRequest, SpawnOrder, StepExit};
use crate::{GuardLock, platform};

/// Orders on their way to the socket. Whoever has one more waits.
const ORDERS_MAX: usize = 64;

/// A step to start.
#[derive(Debug)]
pub struct SpawnRequest {
    /// The lease that it runs under.
    pub fence: Fence,
    /// The program, looked for on the step's `PATH` if its name has no slash, and its arguments.
    pub argv: Vec<OsString>,
    /// Variables to set, beside those of the worker.
    pub env: Vec<(OsString, OsString)>,
    /// Variables of the worker to leave out.
    pub removed: Vec<OsString>,
    /// Where it starts; where the worker did otherwise.
    pub dir: Option<PathBuf>,
    /// For what the main process leaves behind, and at most 2 s of it, from the polite order to end to the other one.
    pub kill_grace: Span,
    /// When it is to end, see [`Guarded::set_deadline`].
    pub deadline: Option<ContactDeadline>,
    /// It stands in line; otherwise it starts at once.
    pub queue_limits: Option<StartQueueLimits>,
    /// The writing end of a pipe for both its outputs.
    pub output: OwnedFd,
}

/// The guard is dead, and every step that it had is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the guard process has died")]
pub struct GuardLost;

/// A running guard. When the last handle of it and of its steps is dropped, everything that it has is killed.
#[derive(Clone, Debug)]
pub struct GuardHandle {
    orders: mpsc::Sender<GuardLinkCommand>,
    over: watch::Receiver<bool>,
    pid: u32,
    mark: Arc<str>,
    /// What the leader has judged and the guard was not told yet.
    judged: Arc<Mutex<Vec<Fence>>>,
}

/// What a handle passes to the link.
#[derive(Debug)]
pub(super) enum GuardLinkCommand {
    Spawn(SpawnOrder, OwnedFd, watch::Sender<GuardedStepState>),
    Tell(GuardRequest),
    /// The same, with a word when the guard will read it.
    Hold(GuardRequest, oneshot::Sender<()>),
}

impl GuardHandle {
    /// Starts a guard by executing the running program anew: its `main` has to call
    /// [`main_if_asked`](super::main_if_asked) first. Fails, and executes nothing, if this process has not called it.
    pub async fn start() -> io::Result<Self> {
        entry::check_own_program()?;
        Self::start_from(&platform::own_program()?).await
    }

    /// Starts a guard that holds the lock of this life until nothing of any step is left.
    pub async fn start_holding(lock: GuardLock) -> io::Result<Self> {
        entry::check_own_program()?;
        Self::start_as(GuardRole::Guard, &platform::own_program()?, Some(lock)).await
    }

    /// The same, with a tether between the guard and each step: for workers whose leases expire. A step then ends in time
    /// even if its start does not return, and if worker and guard are killed. The tethers hold the lock too.
    pub async fn start_with_tethers(lock: GuardLock) -> io::Result<Self> {
        entry::check_own_program()?;
        Self::start_with_tethers_from(&platform::own_program()?, Some(lock)).await
    }

    /// Starts a guard from another program that can become one.
    pub async fn start_from(program: &Path) -> io::Result<Self> {
        Self::start_as(GuardRole::Guard, program, None).await
    }

    /// Starts a guard with tethers from another program that can become one.
    pub async fn start_with_tethers_from(
        program: &Path,
        lock: Option<GuardLock>,
    ) -> io::Result<Self> {
        Self::start_as(GuardRole::GuardWithTethers, program, lock).await
    }

    async fn start_as(
        role: GuardRole,
        program: &Path,
        lock: Option<GuardLock>,
    ) -> io::Result<Self> {
        let (orders, receiver) = mpsc::channel(ORDERS_MAX);
        let (over_sender, over) = watch::channel(false);
        let started = entry::start(program, role, lock)?;
        let link = GuardLink::start((program, started), receiver, over_sender).await?;
        let (pid, mark) = (link.guard_pid(), link.mark().into());
        tokio::spawn(link.run());
        Ok(Self { orders, over, pid, mark, judged: Arc::default() })
    }

    /// Starts a step. That it could not be started is its [`Exit`].
    pub async fn spawn(&self, spawn: SpawnRequest) -> Result<GuardedStep, GuardLost> {
        let (sender, state) = watch::channel(GuardedStepState::default());
        let fence = spawn.fence;
        let order = SpawnOrder {
            fence,
            argv: spawn.argv.into_iter().map(Into::into).collect(),
            env: spawn.env.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
            removed: spawn.removed.into_iter().map(Into::into).collect(),
            dir: spawn.dir.map(|dir| dir.into_os_string().into()),
            grace: spawn.kill_grace,
            deadline: spawn.deadline,
            line: spawn.queue_limits,
        };
        let sent = self.orders.send(GuardLinkCommand::Spawn(order, spawn.output, sender)).await;
        sent.map_err(|_| GuardLost)?;
        Ok(GuardedStep { fence, orders: self.orders.clone(), state })
    }

    /// Says that a step begins inside this process. When this returns the guard will know of it, also if this process dies
    /// in the next moment; it holds the step until that is released.
    pub async fn hold(
        &self,
        fence: Fence,
        at: Option<ContactDeadline>,
    ) -> Result<InProcessStep, GuardLost> {
        let (written, is_written) = oneshot::channel();
        let sent = self
            .orders
            .send(GuardLinkCommand::Hold(GuardRequest::Hold { fence, at }, written))
            .await;
        sent.map_err(|_| GuardLost)?;
        is_written.await.map_err(|_| GuardLost)?;
        Ok(InProcessStep { fence, orders: self.orders.clone() })
    }

    /// Says what to tell, and whom, if this process dies: before the first step of a life, and again when it changes.
    pub async fn set_death_notice(&self, will: DeathNoticeConfig) {
        // An error means that the guard is dead, and says nothing to anybody.
        drop(self.orders.send(GuardLinkCommand::Tell(GuardRequest::Will(will))).await);
    }

    /// Sets when nothing of any step may be alive any more, on the clock that counts since the start of the machine. The
    /// guard then kills all that it has and ends, also if this process is stopped. It kills this process too if that runs
    /// steps itself that the guard was told of.
    pub async fn expire_at(&self, at: Option<Time>) {
        // An error means that the guard is dead, and with it every step.
        drop(self.orders.send(GuardLinkCommand::Tell(GuardRequest::Expire { at })).await);
    }

    /// Says that the leader has judged the outcomes of these steps. It never waits: what there is no room for goes with
    /// what follows.
    pub fn mark_judged(&self, fences: impl IntoIterator<Item = Fence>) {
        let mut settled = self.judged.lock().unwrap_or_else(PoisonError::into_inner);
        settled.extend(fences);
        let command = GuardLinkCommand::Tell(GuardRequest::Settled(settled.clone()));
        if self.orders.try_send(command).is_ok() {
            settled.clear();
        }
    }

    /// The number of its process.
    pub const fn pid(&self) -> u32 {
        self.pid
    }

    /// What the environment of everything that it starts is marked with, for whoever comes after it.
    pub fn mark(&self) -> &str {
        &self.mark
    }

    /// Waits until the guard has ended, in whatever way. What it had is then dead.
    pub async fn over(&self) {
        // An error means that whoever could say so is gone, which says the same.
        drop(self.over.clone().wait_for(|over| *over).await);
    }

    /// Ends the guard, and everything that it has, by force.
    pub async fn end(self) {
        // An error means that it has ended.
        drop(self.orders.send(GuardLinkCommand::Tell(GuardRequest::Bye)).await);
        self.over().await;
    }
}

/// A step that runs inside this process, and that the guard knows of.
#[derive(Debug)]
pub struct InProcessStep {
    fence: Fence,
    orders: mpsc::Sender<GuardLinkCommand>,
}

impl InProcessStep {
    /// Sets when nothing of the step may be alive any more, see [`Guarded::set_deadline`]. If it is then, this process is
    /// killed.
    pub async fn set_deadline(&self, at: Option<ContactDeadline>) {
        let request = GuardRequest::Deadline { fence: self.fence, at };
        // An error means that the guard is dead, and this process is at its end too.
        drop(self.orders.send(GuardLinkCommand::Tell(request)).await);
    }

    /// Says that the step is over.
    pub async fn release(self) {
        drop(
            self.orders
                .send(GuardLinkCommand::Tell(GuardRequest::Release { fence: self.fence }))
                .await,
        );
    }
}

/// A step that a guard holds. Dropping it changes nothing for the step while the guard is held.
#[derive(Debug)]
pub struct GuardedStep {
    fence: Fence,
    orders: mpsc::Sender<GuardLinkCommand>,
    state: watch::Receiver<GuardedStepState>,
}

impl GuardedStep {
    /// The lease that it runs under.
    pub const fn fence(&self) -> Fence {
        self.fence
    }

    /// The number of its main process, from when the news has come that it has started.
    pub fn pid(&self) -> Option<i32> {
        self.state.borrow().pid
    }

    /// Waits until it has started, and says when, on the clock that counts since the start of the machine. Nothing if it has
    /// ended without.
    pub async fn begun(&self) -> Option<Time> {
        let mut state = self.state.clone();
        let begun = state.wait_for(|state| state.begun.is_some() || state.gone).await;
        // An error means that nobody is left who could say.
        begun.ok().and_then(|state| state.begun)
    }

    /// Waits until its main process has ended. Others of it may be left, and may write to its output.
    pub async fn exited(&self) -> StepExit {
        self.wait(|state| state.exit.is_some()).await
    }

    /// Waits until nothing of it is left: only then may its lease and its locks pass on.
    pub async fn gone(&self) -> StepExit {
        self.wait(|state| state.gone).await
    }

    /// When nothing of it was left, on the clock that counts since the start of the machine; nothing if that is not so, or
    /// nobody saw it.
    pub fn gone_at(&self) -> Option<Time> {
        self.state.borrow().gone_at
    }

    /// Stops it: politely, and by force after the grace, or by force at once. A later order can only hasten the end.
    pub async fn stop(&self, how: StopMode, grace: Span) {
        self.tell(GuardRequest::Stop { fence: self.fence, how, grace }).await;
    }

    /// Keeps it from starting if it stands in line.
    pub async fn withdraw(&self) {
        self.tell(GuardRequest::Withdraw { fence: self.fence }).await;
    }

    /// Sets when it is told to end and when nothing of it may be alive any more, on the clock that counts since the start
    /// of the machine, suspension included.
    pub async fn set_deadline(&self, at: Option<ContactDeadline>) {
        self.tell(GuardRequest::Deadline { fence: self.fence, at }).await;
    }

    async fn wait(&self, reached: impl Fn(&GuardedStepState) -> bool) -> StepExit {
        let mut state = self.state.clone();
        let reached = state.wait_for(|state| reached(state)).await;
        // An error means that nobody is left who could say.
        let exit = reached.ok().and_then(|state| state.exit.clone());
        exit.unwrap_or(StepExit::Lost)
    }

    async fn tell(&self, request: GuardRequest) {
        // An error means that the guard is dead and with it the step.
        drop(self.orders.send(GuardLinkCommand::Tell(request)).await);
    }
}
