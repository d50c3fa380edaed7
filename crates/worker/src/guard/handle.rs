//! The worker's handle of a guard.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch};
use windlass_core::id::Fence;
use windlass_core::session::ContactDeadline;
use windlass_core::start_queue::StartQueueLimits;
use windlass_core::time::{Span, Time};
use windlass_link::DeathNoticeConfig;

use super::entry::{self, GuardRole};
use super::guard_link::{GuardLink, GuardedStepState};
use super::guard_protocol::{GuardRequest, SpawnOrder};
use super::guarded_step::{GuardedStep, InProcessStep};
use crate::{GuardLock, platform};

/// The maximum number of orders on their way to the socket. A caller with one more waits.
const ORDERS_MAX: usize = 64;

/// A step to start.
#[derive(Debug)]
pub struct SpawnRequest {
    /// The lease that it runs under.
    pub fence: Fence,
    /// The program and its arguments. A name without a slash is looked up on the step's `PATH`.
    pub argv: Vec<OsString>,
    /// Variables to set, in addition to those of the worker.
    pub env: Vec<(OsString, OsString)>,
    /// Variables of the worker to remove.
    pub removed: Vec<OsString>,
    /// The directory that it starts in. `None` for the worker's own.
    pub dir: Option<PathBuf>,
    /// The time between SIGTERM and SIGKILL for processes that the main process leaves behind; at most 2 s of it.
    pub kill_grace: Span,
    /// When it must end, see [`GuardedStep::set_deadline`].
    pub deadline: Option<ContactDeadline>,
    /// The limits of the start queue, if the step waits there. Otherwise it starts at once.
    pub queue_limits: Option<StartQueueLimits>,
    /// The writing end of a pipe for its standard output and error.
    pub output: OwnedFd,
}

/// The error that the guard is dead. Every step that it supervised is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the guard process has died")]
pub struct GuardLost;

/// A running guard. When the last handle of it and of its steps is dropped, everything that it supervises is killed.
#[derive(Clone, Debug)]
pub struct GuardHandle {
    orders: mpsc::Sender<GuardLinkCommand>,
    over: watch::Receiver<bool>,
    pid: u32,
    mark: Arc<str>,
    /// The fences that the leader has judged and the guard does not know yet.
    judged: Arc<Mutex<Vec<Fence>>>,
}

/// A command of a handle to the link.
#[derive(Debug)]
pub(super) enum GuardLinkCommand {
    Spawn(SpawnOrder, OwnedFd, watch::Sender<GuardedStepState>),
    Tell(GuardRequest),
    /// Sends a request, and signals when the guard will read it.
    Hold(GuardRequest, oneshot::Sender<()>),
}

impl GuardHandle {
    /// Starts a guard by executing the running program anew: its `main` has to call
    /// [`main_if_asked`](super::main_if_asked) first. Fails, and executes nothing, if this process has not called it.
    pub async fn start() -> io::Result<Self> {
        entry::check_own_program()?;
        Self::start_from(&platform::own_program()?).await
    }

    /// Starts a guard that holds the lock of this incarnation until nothing of any step is left.
    pub async fn start_holding(lock: GuardLock) -> io::Result<Self> {
        entry::check_own_program()?;
        Self::start_as(GuardRole::Guard, &platform::own_program()?, Some(lock)).await
    }

    /// Starts a guard with a tether for each step, for workers whose leases expire. A step then ends in time even if
    /// its start does not return, and if worker and guard are killed. The tethers hold the lock too.
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

    /// Starts a step. A start that fails is reported as its [`StepExit`](super::StepExit).
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

    /// Reports that a step begins inside this process. When this returns, the guard learns of it even if this process
    /// dies in the next moment. The guard lists the step until it is released.
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

    /// Sets the death notice of this process. Call it before the first step of an incarnation, and again when the
    /// notice changes.
    pub async fn set_death_notice(&self, notice: DeathNoticeConfig) {
        // An error means that the guard is dead and sends no notice.
        drop(self.orders.send(GuardLinkCommand::Tell(GuardRequest::SetDeathNotice(notice))).await);
    }

    /// Sets when no process of any step may be alive, on the clock that counts since the boot of the machine. The guard
    /// then kills everything that it supervises and ends, also if this process is stopped. If this process runs steps
    /// that the guard was informed of, the guard kills this process too.
    pub async fn expire_at(&self, at: Option<Time>) {
        // An error means that the guard is dead, and every step with it.
        drop(self.orders.send(GuardLinkCommand::Tell(GuardRequest::Expire { at })).await);
    }

    /// Reports that the leader has judged the outcomes of these steps. It never waits: fences that find no room go with
    /// the next call.
    pub fn mark_judged(&self, fences: impl IntoIterator<Item = Fence>) {
        let mut settled = self.judged.lock().unwrap_or_else(PoisonError::into_inner);
        settled.extend(fences);
        let command = GuardLinkCommand::Tell(GuardRequest::Settled(settled.clone()));
        if self.orders.try_send(command).is_ok() {
            settled.clear();
        }
    }

    /// Returns its process id.
    pub const fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns the mark in the environment of everything that it starts. A successor finds leftover processes by it.
    pub fn mark(&self) -> &str {
        &self.mark
    }

    /// Waits until the guard has ended, in whatever way. Everything that it supervised is then dead.
    pub async fn over(&self) {
        // An error means that the sender is gone, which means the same.
        drop(self.over.clone().wait_for(|over| *over).await);
    }

    /// Ends the guard, and everything that it supervises, by force.
    pub async fn end(self) {
        // An error means that it has ended.
        drop(self.orders.send(GuardLinkCommand::Tell(GuardRequest::Bye)).await);
        self.over().await;
    }
}
