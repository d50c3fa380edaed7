//! A step as the guard sees it: its main process, its group, and the next times at which the guard acts on them.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpgid, kill_process, kill_process_group, waitid,
};
use windlass_core::id::Fence;
use windlass_core::session::{ContactDeadline, StopMode};
use windlass_core::start_queue::StepEnd;
use windlass_core::time::{Span, Time};

use super::guard_protocol::{SpawnOrder, StepExit};
use crate::platform;

/// How long processes that outlive the main process may take to end, or the step's grace if that is shorter. Only the
/// step waits for them, and it may hold a lock. The time is enough to close files, not to finish work.
const LEFT_OVER_GRACE: Span = Span::secs(2);

/// The signals that the processes of a step have received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StepSignal {
    None,
    Terminate,
    Kill,
}

/// The initiator of a step's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StopInitiator {
    Worker,
    Deadline,
}

/// The state of a main process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MainProcessState {
    /// There is no process yet.
    Starting,
    Running,
    MayHaveEnded,
    /// True if it exited by itself and with success.
    Exited {
        well: bool,
    },
}

/// The way in which the end of a main process is noticed.
#[derive(Debug)]
enum MainProcessWatch {
    /// The descriptor becomes readable.
    Descriptor(Arc<OwnedFd>),
    /// A thread waits for the end and reports it.
    SpawnThread,
    /// The guard polls it.
    Polled,
}

/// A step that is starting or has started, and of which something is left.
#[derive(Debug)]
pub(super) struct SupervisedStep {
    pub(super) fence: Fence,
    /// A number that grows with each step that is started.
    pub(super) serial: u64,
    /// The main process, which leads the group, once there is one. It is reaped when the step is gone, and not before,
    /// so that its number, which is also the group's, stays its own.
    pub(super) leader: Option<Pid>,
    watch: MainProcessWatch,
    pub(super) signal_sent: StepSignal,
    process_state: MainProcessState,
    grace: Span,
    deadline: Option<ContactDeadline>,
    /// The initiator of the first order to end.
    ended_by: Option<StopInitiator>,
    /// When the processes that were ordered to end are killed.
    kill_at: Option<Time>,
}

impl SupervisedStep {
    /// Creates a step that is about to start.
    pub(super) fn new(order: &SpawnOrder, serial: u64) -> Self {
        Self {
            fence: order.fence,
            serial,
            leader: None,
            watch: MainProcessWatch::Polled,
            signal_sent: StepSignal::None,
            process_state: MainProcessState::Starting,
            grace: order.grace,
            deadline: order.deadline,
            ended_by: None,
            kill_at: None,
        }
    }

    /// Records a start on a thread that waits for the main process. The step now receives the signals that were sent
    /// meanwhile.
    pub(super) fn started_on_thread(&mut self, leader: Pid) {
        self.start(leader, MainProcessWatch::SpawnThread);
    }

    /// Records a start, and watches the main process.
    pub(super) fn started(&mut self, leader: Pid) {
        let watch = platform::exit_descriptor(leader).map(Arc::new);
        self.start(leader, watch.map_or(MainProcessWatch::Polled, MainProcessWatch::Descriptor));
    }

    fn start(&mut self, leader: Pid, watch: MainProcessWatch) {
        (self.leader, self.watch, self.process_state) =
            (Some(leader), watch, MainProcessState::Running);
        self.signal(self.signal_sent);
    }

    /// Returns whether it must be killed and its start has not returned.
    pub(super) fn is_hung(&self) -> bool {
        self.process_state == MainProcessState::Starting && self.signal_sent == StepSignal::Kill
    }

    /// Returns whether its main process is known to have ended.
    pub(super) fn has_exited(&self) -> bool {
        matches!(self.process_state, MainProcessState::Exited { .. })
    }

    /// Returns how it ended, once its main process is known to have exited.
    pub(super) fn end(&self) -> StepEnd {
        match (self.ended_by, self.process_state) {
            (Some(StopInitiator::Worker), _) => StepEnd::Stopped,
            (None, MainProcessState::Exited { well: true }) => StepEnd::Succeeded,
            (None | Some(StopInitiator::Deadline), _) => StepEnd::Failed,
        }
    }

    /// Returns the descriptor that becomes readable when its main process ends.
    pub(super) fn watch(&self) -> Option<&Arc<OwnedFd>> {
        match &self.watch {
            MainProcessWatch::Descriptor(watch) => Some(watch),
            MainProcessWatch::SpawnThread | MainProcessWatch::Polled => None,
        }
    }

    /// Returns whether its main process must be polled, because no event reports its end.
    pub(super) fn is_unwatched(&self) -> bool {
        matches!(self.watch, MainProcessWatch::Polled)
            && self.process_state == MainProcessState::Running
    }

    /// Records that its watch reports the end of the main process.
    pub(super) fn note_exit(&mut self) {
        if self.process_state == MainProcessState::Running {
            self.process_state = MainProcessState::MayHaveEnded;
        }
    }

    /// Sets its deadline. An order to end that was given stays given.
    pub(super) const fn set_deadline(&mut self, at: Option<ContactDeadline>) {
        self.deadline = at;
    }

    /// Stops it. An earlier order is hastened, never postponed.
    pub(super) fn stop(&mut self, how: StopMode, grace: Span, now: Time) {
        self.ended_by.get_or_insert(StopInitiator::Worker);
        match how {
            StopMode::Kill => self.send_signal(StepSignal::Kill),
            StopMode::Term => self.terminate(now + grace),
        }
    }

    /// Returns the next time at which something must be done.
    pub(super) fn due(&self) -> Option<Time> {
        match self.signal_sent {
            StepSignal::None => self.deadline.map(|deadline| deadline.asks_at),
            StepSignal::Terminate => {
                let deadline = self.deadline.map(|deadline| deadline.kills_at);
                self.kill_at.into_iter().chain(deadline).min()
            }
            StepSignal::Kill => None,
        }
    }

    /// Sends the signal that is due, SIGTERM or SIGKILL, to the process group.
    pub(super) fn enforce(&mut self, now: Time) {
        let is_due = |step: &Self| step.due().is_some_and(|at| at <= now);
        if self.signal_sent == StepSignal::None && is_due(self) {
            let deadline = self.deadline.expect("only a deadline is due before any order");
            self.ended_by.get_or_insert(StopInitiator::Deadline);
            self.terminate(deadline.kills_at);
        }
        if self.signal_sent == StepSignal::Terminate && is_due(self) {
            self.send_signal(StepSignal::Kill);
        }
    }

    /// Takes the exit of the main process, once.
    pub(super) fn take_exit(&mut self) -> Option<StepExit> {
        if self.process_state != MainProcessState::MayHaveEnded && !self.is_unwatched() {
            return None;
        }
        let exit = self.wait(WaitIdOptions::NOWAIT)?;
        self.process_state = MainProcessState::Exited { well: exit == StepExit::Code(0) };
        self.watch = MainProcessWatch::Polled;
        // The exit code does not matter: many programs end with 0 after a signal without having done their work.
        Some(if self.ended_by == Some(StopInitiator::Deadline) { StepExit::Expired } else { exit })
    }

    /// Orders the processes that the main process left behind to end. If the whole step was ordered to end before, they
    /// keep the rest of the promised grace.
    pub(super) fn terminate_leftovers(&mut self, now: Time) {
        if self.has_exited() && self.signal_sent == StepSignal::None {
            self.terminate(now + LEFT_OVER_GRACE.min(self.grace));
        }
    }

    /// Reaps the main process, when nothing else of the step is left.
    pub(super) fn reap(&self) {
        self.wait(WaitIdOptions::empty());
    }

    fn wait(&self, options: WaitIdOptions) -> Option<StepExit> {
        let options = options | WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        match waitid(WaitId::Pid(self.leader?), options) {
            Ok(None) => None,
            Ok(Some(status)) => {
                let signal = status.terminating_signal().map(StepExit::Signal);
                Some(status.exit_status().map(StepExit::Code).or(signal).unwrap_or(StepExit::Lost))
            }
            // It is not a child any more: the system reaped it, which happens where SIGCHLD is ignored.
            Err(_) => Some(StepExit::Lost),
        }
    }

    fn terminate(&mut self, kill_at: Time) {
        self.kill_at = Some(self.kill_at.map_or(kill_at, |at| at.min(kill_at)));
        self.send_signal(StepSignal::Terminate);
    }

    fn send_signal(&mut self, what: StepSignal) {
        if self.signal_sent < what {
            self.signal_sent = what;
            self.signal(what);
        }
    }

    fn signal(&self, what: StepSignal) {
        let Some(leader) = self.leader else { return };
        // It may have moved to another group. It is not reaped yet, so its number is its own. SIGKILL is sent to it in
        // any case: this happens once, and it may be moving at this moment.
        let may_have_left_group =
            what == StepSignal::Kill || getpgid(Some(leader)).is_ok_and(|group| group != leader);
        signal(what, |signal| {
            // It fails if nothing of the group is left.
            let _ = kill_process_group(leader, signal);
            if may_have_left_group {
                // It fails if the process may not be signalled.
                let _ = kill_process(leader, signal);
            }
        });
    }
}

/// Sends the signals of an order to processes.
pub(super) fn signal(what: StepSignal, send: impl Fn(Signal)) {
    match what {
        StepSignal::None => {}
        StepSignal::Terminate => {
            send(Signal::TERM);
            // A stopped process would not notice the signal before.
            send(Signal::CONT);
        }
        StepSignal::Kill => send(Signal::KILL),
    }
}
