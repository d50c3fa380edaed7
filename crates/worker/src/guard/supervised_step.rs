//! A step as the guard sees it: one main process, its group, and when what has to be done to them.

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

/// How long what a main process leaves behind may take to end; its own grace if that is shorter. Nobody waits for it
/// but the step, which may hold a lock: long enough to close files, not to finish work.
const LEFT_OVER_GRACE: Span = Span::secs(2);

/// What the processes of a step have been told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StepSignal {
    None,
    Terminate,
    Kill,
}

/// Who wanted a step to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StopInitiator {
    Worker,
    Deadline,
}

/// What is known of a main process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MainProcessState {
    /// There is none yet.
    Starting,
    Running,
    MayHaveEnded,
    /// Whether by itself and with success.
    Exited {
        well: bool,
    },
}

/// How it becomes known that a main process has ended.
#[derive(Debug)]
enum MainProcessWatch {
    /// It becomes readable.
    Descriptor(Arc<OwnedFd>),
    /// Somebody waits for it and will say so.
    SpawnThread,
    /// It has to be looked at.
    Polled,
}

/// A step that is started or was, and of which something is left.
#[derive(Debug)]
pub(super) struct SupervisedStep {
    pub(super) fence: Fence,
    /// Grows with each step that is started.
    pub(super) serial: u64,
    /// The main process, which leads the group, once there is one. It is not reaped before the step is gone, so that its
    /// number, which is the group's too, stays its own.
    pub(super) leader: Option<Pid>,
    watch: MainProcessWatch,
    pub(super) signal_sent: StepSignal,
    life: MainProcessState,
    grace: Span,
    deadline: Option<ContactDeadline>,
    /// Who had it told to end first.
    ended_by: Option<StopInitiator>,
    /// When those that were told to end are killed.
    kill_at: Option<Time>,
}

impl SupervisedStep {
    /// A step that is about to start.
    pub(super) fn new(order: &SpawnOrder, serial: u64) -> Self {
        Self {
            fence: order.fence,
            serial,
            leader: None,
            watch: MainProcessWatch::Polled,
            signal_sent: StepSignal::None,
            life: MainProcessState::Starting,
            grace: order.grace,
            deadline: order.deadline,
            ended_by: None,
            kill_at: None,
        }
    }

    /// It has started, and somebody waits for its main process. What it was told meanwhile reaches it now.
    pub(super) fn started_on_thread(&mut self, leader: Pid) {
        self.start(leader, MainProcessWatch::SpawnThread);
    }

    /// It has started, and its main process is to be watched.
    pub(super) fn started(&mut self, leader: Pid) {
        let watch = platform::exit_descriptor(leader).map(Arc::new);
        self.start(leader, watch.map_or(MainProcessWatch::Polled, MainProcessWatch::Descriptor));
    }

    fn start(&mut self, leader: Pid, watch: MainProcessWatch) {
        (self.leader, self.watch, self.life) = (Some(leader), watch, MainProcessState::Running);
        self.signal(self.signal_sent);
    }

    /// Whether it is to be killed and its start has not returned.
    pub(super) fn is_hung(&self) -> bool {
        self.life == MainProcessState::Starting && self.signal_sent == StepSignal::Kill
    }

    /// Whether its main process is known to have ended.
    pub(super) fn has_exited(&self) -> bool {
        matches!(self.life, MainProcessState::Exited { .. })
    }

    /// How it ended, once its main process is known to have exited.
    pub(super) fn end(&self) -> StepEnd {
        match (self.ended_by, self.life) {
            (Some(StopInitiator::Worker), _) => StepEnd::Stopped,
            (None, MainProcessState::Exited { well: true }) => StepEnd::Succeeded,
            (None | Some(StopInitiator::Deadline), _) => StepEnd::Failed,
        }
    }

    /// What becomes readable when its main process ends.
    pub(super) fn watch(&self) -> Option<&Arc<OwnedFd>> {
        match &self.watch {
            MainProcessWatch::Descriptor(watch) => Some(watch),
            MainProcessWatch::SpawnThread | MainProcessWatch::Polled => None,
        }
    }

    /// Whether its main process has to be looked at: nothing would tell.
    pub(super) fn is_unwatched(&self) -> bool {
        matches!(self.watch, MainProcessWatch::Polled) && self.life == MainProcessState::Running
    }

    /// Its watch says that its main process has ended.
    pub(super) fn note_exit(&mut self) {
        if self.life == MainProcessState::Running {
            self.life = MainProcessState::MayHaveEnded;
        }
    }

    /// Sets its deadline. What has been told to end stays told.
    pub(super) const fn set_deadline(&mut self, at: Option<ContactDeadline>) {
        self.deadline = at;
    }

    /// Stops it; what was ordered earlier is hastened, never postponed.
    pub(super) fn stop(&mut self, how: StopMode, grace: Span, now: Time) {
        self.ended_by.get_or_insert(StopInitiator::Worker);
        match how {
            StopMode::Kill => self.send_signal(StepSignal::Kill),
            StopMode::Term => self.terminate(now + grace),
        }
    }

    /// When it has to be looked at next.
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

    /// Does what is due.
    pub(super) fn enforce(&mut self, now: Time) {
        let is_due = |charge: &Self| charge.due().is_some_and(|at| at <= now);
        if self.signal_sent == StepSignal::None && is_due(self) {
            let deadline = self.deadline.expect("only a deadline is due before any order");
            self.ended_by.get_or_insert(StopInitiator::Deadline);
            self.terminate(deadline.kills_at);
        }
        if self.signal_sent == StepSignal::Terminate && is_due(self) {
            self.send_signal(StepSignal::Kill);
        }
    }

    /// Sees that the main process has ended, once.
    pub(super) fn take_exit(&mut self) -> Option<StepExit> {
        if self.life != MainProcessState::MayHaveEnded && !self.is_unwatched() {
            return None;
        }
        let exit = self.wait(WaitIdOptions::NOWAIT)?;
        self.life = MainProcessState::Exited { well: exit == StepExit::Code(0) };
        self.watch = MainProcessWatch::Polled;
        // Whatever its code: many that are told to end do so with 0, and have not done what they were for.
        Some(if self.ended_by == Some(StopInitiator::Deadline) { StepExit::Expired } else { exit })
    }

    /// Asks what the main process left behind to end, unless all of the step was told before: then those have the rest
    /// of the grace that they were promised.
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
            // Not a child any more: the system reaped it, as it does where SIGCHLD is ignored.
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
        // It may have moved to another group. It is not reaped yet, so that its number is its own. Killed it is in any case:
        // that is done once, and it may be moving at this moment.
        let may_have_left_group =
            what == StepSignal::Kill || getpgid(Some(leader)).is_ok_and(|group| group != leader);
        signal(what, |signal| {
            // It fails if nothing of the group is left.
            let _ = kill_process_group(leader, signal);
            if may_have_left_group {
                // It fails if it may not be signalled.
                let _ = kill_process(leader, signal);
            }
        });
    }
}

/// The signals by which processes are told.
pub(super) fn signal(what: StepSignal, send: impl Fn(Signal)) {
    match what {
        StepSignal::None => {}
        StepSignal::Terminate => {
            send(Signal::TERM);
            // Who is stopped would not notice.
            send(Signal::CONT);
        }
        StepSignal::Kill => send(Signal::KILL),
    }
}
