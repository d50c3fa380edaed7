//! The worker's end of the socket: passes orders on, and news to those who wait for them.

use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Child;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot, watch};
use windlass_core::id::Fence;
use windlass_core::time::Time;

use super::entry::StartedGuard;
use super::frame::{Inbox, Outbox, Read};
use super::handle::Command;
use super::lifeline::Lifeline;
use super::message::{Event, Exit, NotSpawned, NotSpawnedCause, Request};
use super::program::Mark;
use super::stray;

/// A guard starts within milliseconds; on a machine that is overloaded, seconds. A program that does not become one has
/// not called `main_if_asked`.
const READY_WITHIN: Duration = Duration::from_secs(30);

/// Unwritten orders beyond which no more are taken.
const UNWRITTEN_MAX: usize = 1 << 20;

/// How far a step is.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) pid: Option<i32>,
    pub(super) begun: Option<Time>,
    pub(super) exit: Option<Exit>,
    pub(super) gone: bool,
    /// When it was gone, if it had begun.
    pub(super) gone_at: Option<Time>,
}

/// The link to one guard.
#[derive(Debug)]
pub(super) struct Link {
    guard: Child,
    lifeline: Lifeline,
    socket: UnixStream,
    inbox: Inbox,
    outbox: Outbox,
    orders: mpsc::Receiver<Command>,
    steps: HashMap<Fence, watch::Sender<State>>,
    /// Who waits until what was taken is written.
    unwritten: Vec<oneshot::Sender<()>>,
    over: watch::Sender<bool>,
    mark: Mark,
}

impl Link {
    /// Waits until a guard is up that was started from a program.
    pub(super) async fn start(
        (program, started): (&Path, StartedGuard),
        orders: mpsc::Receiver<Command>,
        over: watch::Sender<bool>,
    ) -> io::Result<Self> {
        let StartedGuard { child: guard, socket, lifeline } = started;
        socket.set_nonblocking(true)?;
        let mut link = Self {
            guard,
            lifeline,
            socket: UnixStream::from_std(socket)?,
            inbox: Inbox::default(),
            outbox: Outbox::default(),
            orders,
            steps: HashMap::new(),
            unwritten: Vec::new(),
            over,
            mark: Mark::of_other(String::new()),
        };
        let ready = tokio::time::timeout(READY_WITHIN, link.await_ready()).await;
        match ready.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
            Ok(()) => Ok(link),
            Err(error) => Err(link.give_up(program, &error)),
        }
    }

    /// The number of the guard's process.
    pub(super) fn guard_pid(&self) -> u32 {
        self.guard.id()
    }

    /// What is the guard's own in the marks of its steps.
    pub(super) fn mark(&self) -> &str {
        self.mark.own()
    }

    /// Serves until the guard ends or nobody holds it any more.
    pub(super) async fn run(mut self) {
        self.serve().await;
        let Self { mut guard, lifeline, socket, over, steps, mark, .. } = self;
        // Closed, it tells the guard to end, if it has not. That may take until the last of its processes is dead.
        drop(socket);
        let status = tokio::task::spawn_blocking(move || guard.wait()).await;
        // A guard that ends well has left nothing.
        if !status.is_ok_and(|status| status.is_ok_and(|status| status.success())) {
            clear_up(&steps, &mark).await;
            // Its tethers see that it is gone, and kill what has no mark too.
            drop(tokio::task::spawn_blocking(move || lifeline.await_end()).await);
        }
        for step in steps.into_values() {
            step.send_modify(|state| {
                state.exit.get_or_insert(Exit::Lost);
                state.gone = true;
            });
        }
        over.send_replace(true);
    }

    async fn await_ready(&mut self) -> io::Result<()> {
        loop {
            self.socket.readable().await?;
            if self.read()? == Read::End {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if let Some(Event::Ready { mark }) = self.inbox.next()? {
                self.mark = Mark::of_other(mark);
                return Ok(());
            }
        }
    }

    fn give_up(mut self, program: &Path, error: &io::Error) -> io::Error {
        // They fail if it has ended.
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
                    // Whatever is wrong with the socket, the guard is lost with it.
                    if self.hear().is_none() {
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

    fn take(&mut self, command: Command) {
        match command {
            Command::Hold(request, written) => {
                drop(self.outbox.push(&request, None));
                self.unwritten.push(written);
            }
            // No order is too large but that to spawn something.
            Command::Tell(request) => drop(self.outbox.push(&request, None)),
            Command::Spawn(order, output, step) => {
                let fence = order.fence;
                match self.outbox.push(&Request::Spawn(order), Some(output)) {
                    Ok(()) => drop(self.steps.insert(fence, step)),
                    Err(error) => {
                        let cause = NotSpawnedCause::NotExecutable;
                        let text = format!("cannot start a step: {error}");
                        never_ran(&step, Exit::NotSpawned(NotSpawned { cause, text }));
                    }
                }
            }
        }
    }

    /// Writes what the socket takes. That the guard is gone is seen by reading.
    fn write(&mut self) {
        if !self.outbox.is_empty() {
            let (socket, outbox) = (&self.socket, &mut self.outbox);
            let flush = || outbox.flush(socket.as_fd());
            drop(socket.try_io(Interest::WRITABLE, flush));
        }
        if self.outbox.is_empty() {
            // Who does not wait any more has ended.
            for written in self.unwritten.drain(..) {
                let _ = written.send(());
            }
        }
    }

    /// Passes on what the guard has told. Nothing if the guard is lost.
    fn hear(&mut self) -> Option<()> {
        let read = self.read().ok()?;
        while let Some(event) = self.inbox.next().ok()? {
            self.pass_on(event);
        }
        (read == Read::Some).then_some(())
    }

    fn read(&mut self) -> io::Result<Read> {
        let (socket, inbox) = (&self.socket, &mut self.inbox);
        match socket.try_io(Interest::READABLE, || inbox.read(socket.as_fd())) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Read::Some),
            read => read,
        }
    }

    fn pass_on(&mut self, event: Event) {
        match event {
            Event::Ready { .. } => {}
            Event::Spawned { fence, pid, at } => {
                self.modify(fence, |state| (state.pid, state.begun) = (Some(pid), Some(at)));
            }
            Event::Exited { fence, exit } => {
                self.modify(fence, |state| state.exit = Some(exit));
            }
            Event::NotSpawned { fence, why } => {
                let step = self.steps.remove(&fence);
                if let Some(step) = step {
                    never_ran(&step, Exit::NotSpawned(why));
                }
            }
            Event::Withdrawn { fence } => {
                let step = self.steps.remove(&fence);
                if let Some(step) = step {
                    never_ran(&step, Exit::Withdrawn);
                }
            }
            Event::Gone { fence, at } => {
                let step = self.steps.remove(&fence);
                if let Some(step) = step {
                    step.send_modify(|state| (state.gone, state.gone_at) = (true, Some(at)));
                }
            }
        }
    }

    fn modify(&self, fence: Fence, change: impl FnOnce(&mut State)) {
        if let Some(step) = self.steps.get(&fence) {
            step.send_modify(change);
        }
    }
}

fn never_ran(step: &watch::Sender<State>, exit: Exit) {
    step.send_modify(|state| {
        state.exit = Some(exit);
        state.gone = true;
    });
}

/// Kills what a dead guard had: the groups that are known, and whatever carries its mark.
async fn clear_up(steps: &HashMap<Fence, watch::Sender<State>>, mark: &Mark) {
    for step in steps.values() {
        // The guard died this moment: the numbers of its groups are not used again yet.
        if let Some(group) = step.borrow().pid.and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
    // An error means that `/proc` cannot be read, or somebody cannot be killed: nothing more can be done.
    let _ = stray::kill_where(|entry| mark.fence_in(entry).is_some()).await;
}
