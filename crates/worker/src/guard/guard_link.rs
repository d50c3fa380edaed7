//! The worker's end of the socket: sends orders, and passes events on to the tasks that wait for them.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::Child;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot, watch};
use windlass_core::id::Fence;
use windlass_core::time::Time;

use super::entry::GuardChild;
use super::frame::{FrameInbox, FrameOutbox, SocketRead};
use super::guard_protocol::{
    GuardEvent, GuardRequest, SpawnFailure, SpawnFailureCause, SpawnOrder, StepExit,
};
use super::handle::GuardLinkCommand;
use super::lifeline::GuardLifeline;
use super::spawn::GuardMark;
use super::strays;

/// How long a guard may take to start. It needs milliseconds; on an overloaded machine, seconds. A program that does
/// not become a guard has not called `main_if_asked`.
const READY_WITHIN: Duration = Duration::from_secs(30);

/// The maximum number of bytes of unwritten orders. Beyond it no order is accepted.
const UNWRITTEN_MAX: usize = 1 << 20;

/// The progress of a step.
#[derive(Clone, Debug, Default)]
pub(super) struct GuardedStepState {
    pub(super) pid: Option<i32>,
    pub(super) begun: Option<Time>,
    pub(super) exit: Option<StepExit>,
    pub(super) gone: bool,
    /// When nothing of it was left, if it had begun.
    pub(super) gone_at: Option<Time>,
}

/// The link to one guard.
#[derive(Debug)]
pub(super) struct GuardLink {
    guard: Child,
    lifeline: GuardLifeline,
    socket: UnixStream,
    inbox: FrameInbox,
    outbox: FrameOutbox,
    orders: mpsc::Receiver<GuardLinkCommand>,
    steps: HashMap<Fence, watch::Sender<GuardedStepState>>,
    /// Signals for the tasks that wait until the accepted orders are written.
    unwritten: Vec<oneshot::Sender<()>>,
    over: watch::Sender<bool>,
    mark: GuardMark,
}

impl GuardLink {
    /// Starts a guard from a program, and waits until it is ready.
    pub(super) async fn start(
        (program, started): (&Path, GuardChild),
        orders: mpsc::Receiver<GuardLinkCommand>,
        over: watch::Sender<bool>,
    ) -> io::Result<Self> {
        let GuardChild { child: guard, socket, lifeline } = started;
        socket.set_nonblocking(true)?;
        let mut link = Self {
            guard,
            lifeline,
            socket: UnixStream::from_std(socket)?,
            inbox: FrameInbox::default(),
            outbox: FrameOutbox::default(),
            orders,
            steps: HashMap::new(),
            unwritten: Vec::new(),
            over,
            mark: GuardMark::of_other(String::new()),
        };
        let ready = tokio::time::timeout(READY_WITHIN, link.await_ready()).await;
        match ready.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
            Ok(()) => Ok(link),
            Err(error) => Err(link.give_up(program, &error)),
        }
    }

    /// Returns the process id of the guard.
    pub(super) fn guard_pid(&self) -> u32 {
        self.guard.id()
    }

    /// Returns the guard's own part in the marks of its steps.
    pub(super) fn mark(&self) -> &str {
        self.mark.own()
    }

    /// Serves until the guard ends or every handle is dropped.
    pub(super) async fn run(mut self) {
        self.serve().await;
        let Self { mut guard, lifeline, socket, over, steps, mark, .. } = self;
        // A closed socket orders the guard to end. That may take until the last of its processes is dead.
        drop(socket);
        let status = tokio::task::spawn_blocking(move || guard.wait()).await;
        // A guard that ends with success has left nothing.
        if !status.is_ok_and(|status| status.is_ok_and(|status| status.success())) {
            clear_up(&steps, &mark).await;
            // Its tethers see that it is gone, and also kill what has no mark.
            drop(tokio::task::spawn_blocking(move || lifeline.await_end()).await);
        }
        for step in steps.into_values() {
            step.send_modify(|state| {
                state.exit.get_or_insert(StepExit::Lost);
                state.gone = true;
            });
        }
        over.send_replace(true);
    }

    async fn await_ready(&mut self) -> io::Result<()> {
        loop {
            self.socket.readable().await?;
            if self.read()? == SocketRead::End {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if let Some(GuardEvent::Ready { mark }) = self.inbox.next()? {
                self.mark = GuardMark::of_other(mark);
                return Ok(());
            }
        }
    }

    fn give_up(mut self, program: &Path, error: &io::Error) -> io::Error {
        // Both fail if it has ended.
        let _ = self.guard.kill();
        let _ = self.guard.wait();
        io::Error::other(format!(
            "{} did not become a guard ({error}): does its `main` call \
            `windlass::worker::guard::main_if_asked()` first?",
            program.display()
        ))
    }

    async fn serve(&mut self) {
        loop {
            let takes = self.has_room();
            tokio::select! {
                biased;
                _ = self.socket.readable() => {
                    // Any error of the socket means that the guard is lost.
                    if self.receive_events().is_none() {
                        return;
                    }
                }
                command = self.orders.recv(), if takes => match command {
                    Some(command) => self.take(command),
                    None => return,
                },
                _ = self.socket.writable(), if !self.outbox.is_empty() => {}
            }
            while self.has_room()
                && let Ok(command) = self.orders.try_recv()
            {
                self.take(command);
            }
            self.write();
        }
    }

    fn has_room(&self) -> bool {
        self.outbox.len() < UNWRITTEN_MAX && self.outbox.takes_descriptor()
    }

    fn take(&mut self, command: GuardLinkCommand) {
        match command {
            GuardLinkCommand::Hold(request, written) => {
                drop(self.outbox.push(&request, None));
                self.unwritten.push(written);
            }
            // Only an order to spawn a step can be too large.
            GuardLinkCommand::Tell(request) => drop(self.outbox.push(&request, None)),
            GuardLinkCommand::Spawn(order, output, step) => self.spawn(order, output, step),
        }
    }

    fn spawn(&mut self, order: SpawnOrder, output: OwnedFd, step: watch::Sender<GuardedStepState>) {
        let fence = order.fence;
        match self.outbox.push(&GuardRequest::Spawn(order), Some(output)) {
            Ok(()) => drop(self.steps.insert(fence, step)),
            Err(error) => {
                let cause = SpawnFailureCause::NotExecutable;
                let text = format!("cannot start a step: {error}");
                mark_never_ran(&step, StepExit::NotSpawned(SpawnFailure { cause, text }));
            }
        }
    }

    /// Writes what the socket takes. The read notices that the guard is gone.
    fn write(&mut self) {
        if !self.outbox.is_empty() {
            let (socket, outbox) = (&self.socket, &mut self.outbox);
            let flush = || outbox.flush(socket.as_fd());
            drop(socket.try_io(Interest::WRITABLE, flush));
        }
        if self.outbox.is_empty() {
            // A task that waits no longer has ended.
            for written in self.unwritten.drain(..) {
                let _ = written.send(());
            }
        }
    }

    /// Passes on the events of the guard. `None` if the guard is lost.
    fn receive_events(&mut self) -> Option<()> {
        let read = self.read().ok()?;
        while let Some(event) = self.inbox.next().ok()? {
            self.apply_event(event);
        }
        (read == SocketRead::Some).then_some(())
    }

    fn read(&mut self) -> io::Result<SocketRead> {
        let (socket, inbox) = (&self.socket, &mut self.inbox);
        match socket.try_io(Interest::READABLE, || inbox.read(socket.as_fd())) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(SocketRead::Some),
            read => read,
        }
    }

    fn apply_event(&mut self, event: GuardEvent) {
        match event {
            GuardEvent::Ready { .. } => {}
            GuardEvent::Spawned { fence, pid, at } => {
                self.modify(fence, |state| (state.pid, state.begun) = (Some(pid), Some(at)));
            }
            GuardEvent::Exited { fence, exit } => {
                self.modify(fence, |state| state.exit = Some(exit));
            }
            GuardEvent::NotSpawned { fence, why } => {
                let step = self.steps.remove(&fence);
                if let Some(step) = step {
                    mark_never_ran(&step, StepExit::NotSpawned(why));
                }
            }
            GuardEvent::Withdrawn { fence } => {
                let step = self.steps.remove(&fence);
                if let Some(step) = step {
                    mark_never_ran(&step, StepExit::Withdrawn);
                }
            }
            GuardEvent::Gone { fence, at } => {
                let step = self.steps.remove(&fence);
                if let Some(step) = step {
                    step.send_modify(|state| (state.gone, state.gone_at) = (true, Some(at)));
                }
            }
        }
    }

    fn modify(&self, fence: Fence, change: impl FnOnce(&mut GuardedStepState)) {
        if let Some(step) = self.steps.get(&fence) {
            step.send_modify(change);
        }
    }
}

fn mark_never_ran(step: &watch::Sender<GuardedStepState>, exit: StepExit) {
    step.send_modify(|state| {
        state.exit = Some(exit);
        state.gone = true;
    });
}

/// Kills what a dead guard supervised: the known groups, and every process that carries its mark.
async fn clear_up(steps: &HashMap<Fence, watch::Sender<GuardedStepState>>, mark: &GuardMark) {
    for step in steps.values() {
        // The guard has just died: the numbers of its groups are not used again yet.
        if let Some(group) = step.borrow().pid.and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
    // An error means that `/proc` cannot be read, or that a process cannot be killed. Nothing more can be done.
    let _ = strays::kill_where(|entry| mark.fence_in(entry).is_some()).await;
}
