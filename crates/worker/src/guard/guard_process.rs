//! The guard process: a watch thread that waits for everything, and spawn threads that start steps. It ignores signals.
//!
//! ```text
//!   first thread   starts nothing: the system assigns orphans to it, so that they differ from steps
//!   watch          woken by the socket, by the end of a process, and by the timer of deadlines and graces
//!   spawn threads  each starts a queued step, waits for its end and starts the next one
//! ```
//!
//! One thread at a time holds the [`GuardState`]. No thread holds it while it starts a process or waits for one.

use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard};
use std::{io, thread};

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, setsid, waitid};
use windlass_link::mailbox::MailboxRegistry;
use windlass_net::clock;

use super::guard_state::{ExitWatcher, GuardNextAction, GuardState, StepStart};
use super::lifeline;
use super::spawn::{self, GuardMark, SpawnGate, SpawnSettings};
use super::spawn_threads::SpawnThreads;
use super::supervised_step::SupervisedStep;
use super::wait::GuardWakeups;
use crate::platform;
use crate::platform::ThreadChildren;

/// The reason why a lock is never poisoned.
pub(super) const LOCK_NOT_POISONED: &str = "no thread panics while it holds this lock";

/// The reason why the watch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GuardLoopEnd {
    WithGoodbye,
    WithoutGoodbye,
    /// A start is to be killed and may never return: a tether ends with it.
    HungStart,
}

/// The guard.
#[derive(Debug)]
pub(super) struct GuardProcess {
    state: Mutex<GuardState>,
    spawn_threads: SpawnThreads,
    spawn_settings: SpawnSettings,
    /// A tether has one step at a time and starts it on a spawn thread: the watch goes on if the start does not return.
    is_tether: bool,
}

impl GuardProcess {
    /// Makes the calling process a guard, which obeys the other end of this socket.
    pub(super) fn guard(socket: UnixStream) -> io::Result<Self> {
        // A session of its own: signals of a terminal do not reach it. The call fails only for the leader of a group.
        setsid()?;
        platform::become_guard(c"windlass-guard")?;
        let mark = Arc::new(GuardMark::of_this_guard());
        Self::new(GuardState::new(Arc::new(socket), Arc::clone(&mark))?, mark, false)
    }

    /// Makes the calling process a tether of the guard at the other end of this socket.
    pub(super) fn tether(socket: UnixStream) -> io::Result<Self> {
        platform::become_guard(c"windlass-tether")?;
        let mark = GuardMark::of_own_guard().unwrap_or_else(GuardMark::of_this_guard);
        let mark = Arc::new(mark);
        Self::new(GuardState::of_tether(Arc::new(socket), Arc::clone(&mark))?, mark, true)
    }

    #[expect(clippy::unnecessary_wraps, reason = "the caller returns this result")]
    fn new(state: GuardState, mark: Arc<GuardMark>, is_tether: bool) -> io::Result<Self> {
        let hands = SpawnThreads::new(state.distinguishes_orphans());
        let common = SpawnSettings { mark, path: spawn::own_path(), gate: SpawnGate::default() };
        Ok(Self {
            state: Mutex::new(state),
            spawn_threads: hands,
            spawn_settings: common,
            is_tether,
        })
    }

    /// Serves until the worker says goodbye or is gone, then ends everything.
    pub(super) fn run(self, links: &MailboxRegistry) -> io::Result<()> {
        self.state().send_ready()?;
        let process = Arc::new(self);
        let watch = Arc::clone(&process);
        let watch = thread::Builder::new().spawn(move || watch.serve())?;
        let left = watch.join().unwrap_or_else(|_| Err(io::Error::other("the watch panicked")));
        process.end()?;
        // Released before the report, which may take a while: the next incarnation need not wait for it.
        lifeline::release()?;
        if left? == GuardLoopEnd::WithoutGoodbye {
            let mut state = process.state();
            state.drain_requests();
            std::mem::take(&mut state.death_notice).send(links);
        }
        Ok(())
    }

    /// Waits for everything, and handles it.
    fn serve(self: &Arc<Self>) -> io::Result<GuardLoopEnd> {
        let mut own = ThreadChildren::of_this_thread();
        loop {
            let woken = self.wait()?;
            let mut state = self.state();
            state.on_wakeup(&woken, &mut own, clock::time_since_boot())?;
            if !woken.has_input() {
                state = self.start_queued(state)?;
            }
            match state.handle_input(woken.has_input(), &mut own, clock::time_since_boot())? {
                GuardNextAction::Nothing => {}
                GuardNextAction::Start(start) => {
                    drop(state);
                    self.begin(start)?;
                    state = self.state();
                }
                GuardNextAction::HungStart => return Ok(GuardLoopEnd::HungStart),
                // The worker reports the outcomes of its steps itself, if it goes on.
                GuardNextAction::Goodbye | GuardNextAction::Expired => {
                    return Ok(GuardLoopEnd::WithGoodbye);
                }
                GuardNextAction::WorkerDied => return Ok(GuardLoopEnd::WithoutGoodbye),
            }
            reap_gone(self.start_queued(state)?);
        }
    }

    /// Starts a step that is not queued. A tether leaves this to another thread, because the start may never return.
    fn begin(self: &Arc<Self>, start: StepStart) -> io::Result<()> {
        let start = if self.is_tether {
            self.spawn_threads.offer_to_single_thread(start, self)
        } else {
            Some(start)
        };
        match start {
            // Without a thread the deadline could not be kept.
            Some(_) if self.is_tether => Err(io::Error::other("no thread to start a step")),
            Some(start) => self.start(start, ExitWatcher::Descriptor).map(drop),
            None => Ok(()),
        }
    }

    /// Waits for an event. The descriptors are dropped afterwards, so that the descriptor of a step that is gone is
    /// closed before the guard reports that.
    fn wait(&self) -> io::Result<GuardWakeups> {
        let wait = self.state().wait_set()?;
        wait.wait()
    }

    /// Starts the queued steps whose turn has come.
    fn start_queued<'a>(
        self: &'a Arc<Self>,
        mut state: MutexGuard<'a, GuardState>,
    ) -> io::Result<MutexGuard<'a, GuardState>> {
        while let Some(start) = state.next_queued(clock::time_since_boot()) {
            // While nothing else runs, the watch misses nothing during the start, and no other thread has to be woken.
            let own = if state.has_single_step() {
                Some(start)
            } else {
                self.spawn_threads.offer(start, self)
            };
            if let Some(start) = own {
                drop(state);
                self.start(start, ExitWatcher::Descriptor)?;
                state = self.state();
            }
        }
        Ok(state)
    }

    /// Starts a queued step and waits for its end. Returns the step that the caller is to start next.
    pub(super) fn run_queued(
        &self,
        start: StepStart,
        own: &mut ThreadChildren,
    ) -> io::Result<Option<StepStart>> {
        let fence = start.order.fence;
        if let Some(process) = self.start(start, ExitWatcher::SpawnThread)? {
            wait_exit(process);
        }
        let mut state = self.state();
        let now = clock::time_since_boot();
        state.ended(fence, own, now)?;
        let next = state.next_queued(now);
        state.rearm_timer(now)?;
        // Another start comes first.
        if next.is_none() {
            reap_gone(state);
        }
        Ok(next)
    }

    /// Starts a step. `None` if there is no process.
    fn start(&self, start: StepStart, watcher: ExitWatcher) -> io::Result<Option<Pid>> {
        let which = (start.order.fence, start.at);
        let spawned = spawn::spawn(start.order, start.output, &self.spawn_settings);
        let process = spawned.as_ref().ok().copied();
        let mut state = self.state();
        state.started(which, spawned, watcher)?;
        if watcher == ExitWatcher::SpawnThread {
            state.rearm_timer(clock::time_since_boot())?;
        }
        reap_gone(state);
        Ok(process)
    }

    /// The threads that start queued steps.
    pub(super) const fn spawn_threads(&self) -> &SpawnThreads {
        &self.spawn_threads
    }

    /// A spawn thread cannot go on: the guard ends.
    pub(super) fn fail(&self, error: io::Error) {
        self.state().fail(error);
    }

    /// Kills whatever is left, and returns when nothing is.
    fn end(&self) -> io::Result<()> {
        let mut state = self.state();
        state.close_queue();
        for start in self.spawn_threads.shut_down() {
            state.never_started(start.order.fence);
        }
        state.kill_all()?;
        drop(state);
        // A start that hangs in the child dies here. One that hangs before there is a child will never have one.
        while !self.spawn_settings.gate.close() {
            platform::kill_own_children();
            platform::poll_pause();
        }
        self.state().end()
    }

    fn state(&self) -> MutexGuard<'_, GuardState> {
        self.state.lock().expect(LOCK_NOT_POISONED)
    }
}

/// Reaps the main processes of steps that are gone. Nothing depends on when this happens.
fn reap_gone(mut state: MutexGuard<'_, GuardState>) {
    let gone = state.take_gone();
    drop(state);
    gone.iter().for_each(SupervisedStep::reap);
}

/// Waits for the end of a process, and leaves it to be reaped.
fn wait_exit(process: Pid) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    // Any other error means that it is no child any more, which the next refresh sees.
    while waitid(WaitId::Pid(process), options).is_err_and(|error| error == Errno::INTR) {}
}
