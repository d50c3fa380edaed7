//! The guard process itself: a thread that waits for everything, a few that start steps beside it, deaf to signals.
//!
//! ```text
//!   first thread  starts nothing: the system gives it the orphans, so that they are told from what was started
//!   watch         woken by the socket, by the end of a process, by the timer of deadlines and graces. Idle, it sleeps
//!   hands         each starts a step from the line, waits for its end and starts the next
//! ```
//!
//! One of them at a time has the [`State`], and nobody has it while a process is started or waited for.

use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard};
use std::{io, thread};

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, setsid, waitid};

use super::charge::Charge;
use super::hands::Hands;
use super::lifeline;
use super::program::{self, Common, Mark, StartGate};
use super::state::{Heard, Start, State, Watcher};
use super::wait::Woken;
use crate::clock;
use crate::link::post::Links;
use crate::worker::platform::{self, Children};

/// Why a lock is never poisoned.
pub(super) const NO_PANIC: &str = "nobody panics who has it";

/// Why the watch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    WithGoodbye,
    WithoutAWord,
    /// A start is to be killed and may never return: a tether ends with it.
    HungStart,
}

/// The guard.
#[derive(Debug)]
pub(super) struct Process {
    state: Mutex<State>,
    hands: Hands,
    common: Common,
    /// It has one step at a time, which a thread of its own starts: the watch goes on if that does not return.
    is_tether: bool,
}

impl Process {
    /// Makes the calling process a guard that is told what to do by the other end of this socket.
    pub(super) fn guard(socket: UnixStream) -> io::Result<Self> {
        // A session of its own: nothing of a terminal reaches it. It fails only for who leads a group already.
        setsid()?;
        platform::become_guard(c"windlass-guard")?;
        let mark = Arc::new(Mark::of_this_guard());
        Self::new(State::new(Arc::new(socket), Arc::clone(&mark))?, mark, false)
    }

    /// Makes the calling process a tether of the guard at the other end of this socket.
    pub(super) fn tether(socket: UnixStream) -> io::Result<Self> {
        platform::become_guard(c"windlass-tether")?;
        let mark = Mark::of_own_guard().unwrap_or_else(Mark::of_this_guard);
        let mark = Arc::new(mark);
        Self::new(State::of_tether(Arc::new(socket), Arc::clone(&mark))?, mark, true)
    }

    #[expect(clippy::unnecessary_wraps, reason = "it is the last word of what may fail")]
    fn new(state: State, mark: Arc<Mark>, is_tether: bool) -> io::Result<Self> {
        let hands = Hands::new(state.tells_orphans_apart());
        let common = Common { mark, path: program::own_path(), gate: StartGate::default() };
        Ok(Self { state: Mutex::new(state), hands, common, is_tether })
    }

    /// Serves until the worker says goodbye or is gone, then ends everything.
    pub(super) fn run(self, links: &Links) -> io::Result<()> {
        self.state().greet()?;
        let process = Arc::new(self);
        let watch = Arc::clone(&process);
        let watch = thread::Builder::new().spawn(move || watch.serve())?;
        let left = watch.join().unwrap_or_else(|_| Err(io::Error::other("the watch panicked")));
        process.end()?;
        // Before the report, which may take a while: the next life need not wait for it.
        lifeline::release()?;
        if left? == Left::WithoutAWord {
            let mut state = process.state();
            state.read_the_rest();
            std::mem::take(&mut state.testament).execute(links);
        }
        Ok(())
    }

    /// Waits for everything, and does what follows.
    fn serve(self: &Arc<Self>) -> io::Result<Left> {
        let mut own = Children::of_this_thread();
        loop {
            let woken = self.wait()?;
            let mut state = self.state();
            state.woken(&woken, &mut own, clock::since_start())?;
            if !woken.told() {
                state = self.start_line(state)?;
            }
            match state.hear(woken.told(), &mut own, clock::since_start())? {
                Heard::Nothing => {}
                Heard::Start(start) => {
                    drop(state);
                    self.begin(start)?;
                    state = self.state();
                }
                Heard::HungStart => return Ok(Left::HungStart),
                // The worker itself tells what became of its steps, if it goes on at all.
                Heard::Bye | Heard::Expired => return Ok(Left::WithGoodbye),
                Heard::Death => return Ok(Left::WithoutAWord),
            }
            bury(self.start_line(state)?);
        }
    }

    /// Starts a step that stands in no line. A tether leaves that to another thread: it may never return.
    fn begin(self: &Arc<Self>, start: Start) -> io::Result<()> {
        let start = if self.is_tether { self.hands.give_to_one(start, self) } else { Some(start) };
        match start {
            // Without a thread the deadline could not be kept.
            Some(_) if self.is_tether => Err(io::Error::other("no thread to start a step")),
            Some(start) => self.start(start, Watcher::Descriptor).map(drop),
            None => Ok(()),
        }
    }

    /// Waits for something to do. What was waited for is let go of: a descriptor of who is gone is closed before that is told.
    fn wait(&self) -> io::Result<Woken> {
        let wait = self.state().waits_for()?;
        wait.wait()
    }

    /// Has those in line started whose turn it is.
    fn start_line<'a>(
        self: &'a Arc<Self>,
        mut state: MutexGuard<'a, State>,
    ) -> io::Result<MutexGuard<'a, State>> {
        while let Some(start) = state.next_in_line(clock::since_start()) {
            // Where nothing else runs, nothing is missed while this starts: no other thread has to be woken for it.
            let own = if state.runs_one() { Some(start) } else { self.hands.give(start, self) };
            if let Some(start) = own {
                drop(state);
                self.start(start, Watcher::Descriptor)?;
                state = self.state();
            }
        }
        Ok(state)
    }

    /// Starts a step from the line and waits for its end. Whose turn it is then is for the caller to start.
    pub(super) fn carry(&self, start: Start, own: &mut Children) -> io::Result<Option<Start>> {
        let fence = start.order.fence;
        if let Some(process) = self.start(start, Watcher::Hand)? {
            wait_for(process);
        }
        let mut state = self.state();
        let now = clock::since_start();
        state.ended(fence, own, now)?;
        let next = state.next_in_line(now);
        state.see_to_what_is_due(now)?;
        // With another to start, that comes first.
        if next.is_none() {
            bury(state);
        }
        Ok(next)
    }

    /// Starts a step. Nothing if there is no process.
    fn start(&self, start: Start, watcher: Watcher) -> io::Result<Option<Pid>> {
        let which = (start.order.fence, start.at);
        let spawned = program::spawn(start.order, start.output, &self.common);
        let process = spawned.as_ref().ok().copied();
        let mut state = self.state();
        state.started(which, spawned, watcher)?;
        if watcher == Watcher::Hand {
            state.see_to_what_is_due(clock::since_start())?;
        }
        bury(state);
        Ok(process)
    }

    /// Those who start what stands in line.
    pub(super) const fn hands(&self) -> &Hands {
        &self.hands
    }

    /// A hand cannot go on: the guard ends.
    pub(super) fn fail(&self, error: io::Error) {
        self.state().fail(error);
    }

    /// Kills whatever is left, and returns when nothing is.
    fn end(&self) -> io::Result<()> {
        let mut state = self.state();
        state.close();
        for start in self.hands.dismiss() {
            state.never_started(start.order.fence);
        }
        state.kill_all()?;
        drop(state);
        // A start that hangs is a child too: it dies here. One that hangs before there is a child never makes one.
        while !self.common.gate.close() {
            platform::kill_own_children();
            platform::rest();
        }
        self.state().end()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect(NO_PANIC)
    }
}

/// Reaps the main processes of steps that are gone. Nobody waits for it.
fn bury(mut state: MutexGuard<'_, State>) {
    let gone = state.take_gone();
    drop(state);
    gone.iter().for_each(Charge::bury);
}

/// Waits for the end of a process, and leaves it to be reaped.
fn wait_for(process: Pid) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    // Any other error means that it is no child any more, which is seen by who looks.
    while waitid(WaitId::Pid(process), options).is_err_and(|error| error == Errno::INTR) {}
}
