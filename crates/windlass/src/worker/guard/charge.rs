//! A step as the guard sees it: one main process, its group, and when what has to be done to them.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpgid, kill_process, kill_process_group, waitid,
};
use windlass_core::id::Fence;
use windlass_core::session::{Deadline, StopHow};
use windlass_core::time::{Span, Time};

use super::message::{Exit, Order};
use crate::worker::platform;

/// How long what a main process leaves behind may take to end; its own grace if that is shorter. Nobody waits for it
/// but the step, which may hold a lock: long enough to close files, not to finish work.
const LEFT_OVER_GRACE: Span = Span::secs(2);

/// What the processes of a step have been told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Told {
    Nothing,
    ToEnd,
    Killed,
}

/// Who wanted a step to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EndedBy {
    Worker,
    Deadline,
}

/// What is known of a main process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    /// There is none yet.
    Starts,
    Runs,
    MayHaveEnded,
    /// Whether by itself and with success.
    Exited {
        well: bool,
    },
}

/// How it becomes known that a main process has ended.
#[derive(Debug)]
enum Watch {
    /// It becomes readable.
    Descriptor(Arc<OwnedFd>),
    /// Somebody waits for it and will say so.
    Hand,
    /// It has to be looked at.
    Nobody,
}

/// A step that is started or was, and of which something is left.
#[derive(Debug)]
pub(super) struct Charge {
    pub(super) fence: Fence,
    /// Grows with each step that is started.
    pub(super) serial: u64,
    /// The main process, which leads the group, once there is one. It is not reaped before the step is gone, so that its
    /// number, which is the group's too, stays its own.
    pub(super) leader: Option<Pid>,
    watch: Watch,
    pub(super) told: Told,
    life: Life,
    grace: Span,
    deadline: Option<Deadline>,
    /// Who had it told to end first.
    ended_by: Option<EndedBy>,
    /// When those that were told to end are killed.
    kill_at: Option<Time>,
}

impl Charge {
    /// A step that is about to start.
    pub(super) fn of(order: &Order, serial: u64) -> Self {
        Self {
            fence: order.fence,
            serial,
            leader: None,
            watch: Watch::Nobody,
            told: Told::Nothing,
            life: Life::Starts,
            grace: order.grace,
            deadline: order.deadline,
            ended_by: None,
            kill_at: None,
        }
    }

    /// It has started, and somebody waits for its main process. What it was told meanwhile reaches it now.
    pub(super) fn started_by_hand(&mut self, leader: Pid) {
        self.start(leader, Watch::Hand);
    }

    /// It has started, and its main process is to be watched.
    pub(super) fn started(&mut self, leader: Pid) {
        let watch = platform::watch(leader).map(Arc::new);
        self.start(leader, watch.map_or(Watch::Nobody, Watch::Descriptor));
    }

    fn start(&mut self, leader: Pid, watch: Watch) {
        (self.leader, self.watch, self.life) = (Some(leader), watch, Life::Runs);
        self.signal(self.told);
    }

    /// Whether it is to be killed and its start has not returned.
    pub(super) fn is_hung(&self) -> bool {
        self.life == Life::Starts && self.told == Told::Killed
    }

    /// Whether its main process is known to have ended.
    pub(super) fn has_exited(&self) -> bool {
        matches!(self.life, Life::Exited { .. })
    }

    /// Whether its main process ended by itself and with success.
    pub(super) fn went_well(&self) -> bool {
        self.life == Life::Exited { well: true } && self.ended_by.is_none()
    }

    /// What becomes readable when its main process ends.
    pub(super) fn watch(&self) -> Option<&Arc<OwnedFd>> {
        match &self.watch {
            Watch::Descriptor(watch) => Some(watch),
            Watch::Hand | Watch::Nobody => None,
        }
    }

    /// Whether its main process has to be looked at: nothing would tell.
    pub(super) fn is_unwatched(&self) -> bool {
        matches!(self.watch, Watch::Nobody) && self.life == Life::Runs
    }

    /// Its watch says that its main process has ended.
    pub(super) fn notice(&mut self) {
        if self.life == Life::Runs {
            self.life = Life::MayHaveEnded;
        }
    }

    /// Sets its deadline. What has been told to end stays told.
    pub(super) const fn set_deadline(&mut self, at: Option<Deadline>) {
        self.deadline = at;
    }

    /// Stops it; what was ordered earlier is hastened, never postponed.
    pub(super) fn stop(&mut self, how: StopHow, grace: Span, now: Time) {
        self.ended_by.get_or_insert(EndedBy::Worker);
        match how {
            StopHow::Kill => self.tell(Told::Killed),
            StopHow::Term => self.ask_to_end(now + grace),
        }
    }

    /// Whether the worker wanted it to end.
    pub(super) fn is_stopped(&self) -> bool {
        self.ended_by == Some(EndedBy::Worker)
    }

    /// When it has to be looked at next.
    pub(super) fn due(&self) -> Option<Time> {
        match self.told {
            Told::Nothing => self.deadline.map(|deadline| deadline.asks_at),
            Told::ToEnd => {
                let deadline = self.deadline.map(|deadline| deadline.kills_at);
                self.kill_at.into_iter().chain(deadline).min()
            }
            Told::Killed => None,
        }
    }

    /// Does what is due.
    pub(super) fn enforce(&mut self, now: Time) {
        let is_due = |charge: &Self| charge.due().is_some_and(|at| at <= now);
        if self.told == Told::Nothing && is_due(self) {
            let deadline = self.deadline.expect("only a deadline is due before any order");
            self.ended_by.get_or_insert(EndedBy::Deadline);
            self.ask_to_end(deadline.kills_at);
        }
        if self.told == Told::ToEnd && is_due(self) {
            self.tell(Told::Killed);
        }
    }

    /// Sees that the main process has ended, once.
    pub(super) fn look(&mut self) -> Option<Exit> {
        if self.life != Life::MayHaveEnded && !self.is_unwatched() {
            return None;
        }
        let exit = self.wait(WaitIdOptions::NOWAIT)?;
        self.life = Life::Exited { well: exit == Exit::Code(0) };
        self.watch = Watch::Nobody;
        // Whatever its code: many that are told to end do so with 0, and have not done what they were for.
        Some(if self.ended_by == Some(EndedBy::Deadline) { Exit::Expired } else { exit })
    }

    /// Asks what the main process left behind to end, unless all of the step was told before: then those have the rest
    /// of the grace that they were promised.
    pub(super) fn clear_up(&mut self, now: Time) {
        if self.has_exited() && self.told == Told::Nothing {
            self.ask_to_end(now + LEFT_OVER_GRACE.min(self.grace));
        }
    }

    /// Reaps the main process, when nothing else of the step is left.
    pub(super) fn bury(&self) {
        self.wait(WaitIdOptions::empty());
    }

    fn wait(&self, options: WaitIdOptions) -> Option<Exit> {
        let options = options | WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        match waitid(WaitId::Pid(self.leader?), options) {
            Ok(None) => None,
            Ok(Some(status)) => {
                let signal = status.terminating_signal().map(Exit::Signal);
                Some(status.exit_status().map(Exit::Code).or(signal).unwrap_or(Exit::Lost))
            }
            // Not a child any more: the system reaped it, as it does where SIGCHLD is ignored.
            Err(_) => Some(Exit::Lost),
        }
    }

    fn ask_to_end(&mut self, kill_at: Time) {
        self.kill_at = Some(self.kill_at.map_or(kill_at, |at| at.min(kill_at)));
        self.tell(Told::ToEnd);
    }

    fn tell(&mut self, what: Told) {
        if self.told < what {
            self.told = what;
            self.signal(what);
        }
    }

    fn signal(&self, what: Told) {
        let Some(leader) = self.leader else { return };
        // It may have moved to another group. It is not reaped yet, so that its number is its own. Killed it is in any case:
        // that is done once, and it may be moving at this moment.
        let may_have_left_group =
            what == Told::Killed || getpgid(Some(leader)).is_ok_and(|group| group != leader);
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
pub(super) fn signal(what: Told, send: impl Fn(Signal)) {
    match what {
        Told::Nothing => {}
        Told::ToEnd => {
            send(Signal::TERM);
            // Who is stopped would not notice.
            send(Signal::CONT);
        }
        Told::Killed => send(Signal::KILL),
    }
}
