//! Orphans of steps: processes whose parent ended before them, and that the system assigned to the guard.
//!
//! The process group of an orphan, or the mark in its environment, shows its step. A process without both has left its
//! group and cleared its environment. It belongs to one of the steps that ran when it was first seen, and is ended with
//! the last of them. A process that is dying, or becoming another program, shows neither. No step is gone before that
//! is over, because the process or its children may belong to the step.

use std::cell::Cell;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::process::{Pid, Signal, WaitOptions, getpgid, kill_process, waitpid};
use windlass_core::id::Fence;
use windlass_core::time::{Span, Time};

use super::orphan_process::OrphanProcess;
use super::spawn::GuardMark;
use super::supervised_step::{StepSignal, SupervisedStep};
use crate::platform;
use crate::platform::ThreadChildren;

/// How long a step waits for an orphan in transition that may belong to it. The transition takes milliseconds. A
/// process whose first thread ended before the others looks the same for an unlimited time.
const IN_TRANSITION: Span = Span::secs(2);

/// The pause before another look at an orphan that may be becoming another program: no event reports the end of that.
const LOOK_AGAIN: Span = Span::millis(5);

/// How often orphans are listed in a row because some had died. More appear only if a step produces them without end;
/// the guard must do other work in between.
const ROUNDS: usize = 16;

/// All orphans of a guard.
#[derive(Debug)]
pub(super) struct GuardOrphans {
    orphans: Vec<OrphanProcess>,
    /// The list to which the system adds them.
    children: ThreadChildren,
    /// The children that are no main process of a step, as last listed.
    listed: Vec<Pid>,
    /// True if there is one step at a time: all orphans belong to it.
    of_one_step: bool,
}

impl GuardOrphans {
    /// Creates an empty set. The system assigns orphans to the first thread of the process.
    pub(super) fn new() -> Self {
        let children = ThreadChildren::of_first_thread();
        Self { orphans: Vec::new(), children, listed: Vec::new(), of_one_step: false }
    }

    /// Creates an empty set for a process with one step at a time. Ancestry shows the step of an orphan, and nothing
    /// that could block is read.
    pub(super) fn of_one_step() -> Self {
        Self { of_one_step: true, ..Self::new() }
    }

    /// Returns whether main processes and orphans can be distinguished, whichever thread starts the former.
    pub(super) const fn are_distinguishable(&self) -> bool {
        self.children.tells_threads_apart()
    }

    /// Returns descriptors that become readable when an awaited orphan ends.
    pub(super) fn watches(&self) -> impl Iterator<Item = &Arc<OwnedFd>> {
        self.orphans.iter().filter_map(|orphan| orphan.watch.as_ref())
    }

    /// Returns whether no orphan is known.
    pub(super) fn is_empty(&self) -> bool {
        self.orphans.is_empty()
    }

    /// Returns whether this step has orphans, or may have some.
    pub(super) fn has_orphans_of(&self, fence: Fence) -> bool {
        self.orphans.iter().any(|orphan| orphan.owner == Some(fence) || orphan.unclear)
    }

    /// Returns how long to wait before the next look, if some orphans cause no event.
    pub(super) fn look_again(&self) -> Option<Span> {
        self.orphans.iter().any(|orphan| orphan.unclear).then_some(LOOK_AGAIN)
    }

    /// Adopts new orphans, reaps exited ones, and assigns each to its step. `own` lists the children of the calling
    /// thread. A child that is no main process became its child when its parent ended.
    pub(super) fn refresh(
        &mut self,
        own: &mut ThreadChildren,
        steps: &[SupervisedStep],
        mark: &GuardMark,
        seen: (u64, Time),
    ) -> io::Result<()> {
        for _ in 0..ROUNDS {
            self.listed.clear();
            self.children.list(&mut self.listed)?;
            if self.are_distinguishable() {
                own.list(&mut self.listed)?;
            }
            // A main process is reaped last.
            self.listed.retain(|pid| steps.iter().all(|step| step.leader != Some(*pid)));
            if self.orphans.is_empty() && self.listed.is_empty() {
                return Ok(());
            }
            self.adopt(seen);
            let some_died = self.reap();
            self.attribute(steps, mark, seen.1);
            if !some_died {
                break;
            }
        }
        Ok(())
    }

    fn adopt(&mut self, seen: (u64, Time)) {
        for pid in self.listed.iter().copied() {
            if self.orphans.iter().all(|orphan| orphan.pid != pid) {
                self.orphans.push(OrphanProcess {
                    pid,
                    owner: None,
                    seen: seen.0,
                    seen_at: seen.1,
                    unclear: false,
                    watch: None,
                    signal_sent: StepSignal::None,
                });
            }
        }
    }

    /// Reaps exited orphans. True if there were any: their children are orphans now.
    fn reap(&mut self) -> bool {
        let before = self.orphans.len();
        self.orphans
            .retain(|orphan| matches!(waitpid(Some(orphan.pid), WaitOptions::NOHANG), Ok(None)));
        self.orphans.len() < before
    }

    /// Assigns orphans to their steps. Those of steps that are gone are killed.
    fn attribute(&mut self, steps: &[SupervisedStep], mark: &GuardMark, now: Time) {
        if self.of_one_step {
            return self.attribute_to(steps.first());
        }
        for orphan in self.orphans.iter_mut().filter(|orphan| orphan.owner.is_none()) {
            let (marked, clear) = owner_if_clear(orphan.pid, steps, mark);
            let of_living = marked.filter(|of| steps.iter().any(|step| step.fence == *of));
            orphan.owner = of_living.or_else(|| last_owner(orphan, steps));
            let young = now.since(orphan.seen_at) < IN_TRANSITION;
            orphan.unclear = orphan.owner.is_none() && young && !clear;
            let of_gone = steps.iter().all(|step| step.serial > orphan.seen);
            if orphan.owner.is_none() && (marked.is_some() || of_gone) {
                orphan.signal(StepSignal::Kill);
            }
            if orphan.unclear {
                orphan.watch_exit();
            }
        }
    }

    /// Assigns all orphans to one step. Without a step they are left over from the last one, and are killed.
    fn attribute_to(&mut self, step: Option<&SupervisedStep>) {
        for orphan in self.orphans.iter_mut().filter(|orphan| orphan.owner.is_none()) {
            match step {
                Some(step) => orphan.owner = Some(step.fence),
                None => orphan.signal(StepSignal::Kill),
            }
        }
    }

    /// Kills all current orphans, assigned or not.
    pub(super) fn kill_all(&mut self) -> io::Result<()> {
        self.listed.clear();
        self.children.list(&mut self.listed)?;
        kill(&self.listed);
        Ok(())
    }

    /// Sends the orphans of a step the signal that the step received.
    pub(super) fn signal_orphans_of(&mut self, step: &SupervisedStep) {
        for orphan in self.orphans.iter_mut().filter(|orphan| orphan.owner == Some(step.fence)) {
            orphan.signal(step.signal_sent);
        }
    }
}

/// Kills processes at once.
pub(super) fn kill(children: &[Pid]) {
    for child in children {
        // It fails for a process that may not be signalled. The guard awaits its end all the same.
        let _ = kill_process(*child, Signal::KILL);
    }
}

/// Returns the step of a process, and whether it is certain. A process in transition shows nothing. One that left the
/// transition meanwhile is checked again.
fn owner_if_clear(
    orphan: Pid,
    steps: &[SupervisedStep],
    mark: &GuardMark,
) -> (Option<Fence>, bool) {
    let of = || owner_of(orphan, steps, mark);
    match of() {
        Some(fence) => (Some(fence), true),
        None if platform::in_transition(orphan) => (None, false),
        None => (of(), true),
    }
}

/// Returns the step of a process by its group or else by its mark. A marked step may be gone.
fn owner_of(orphan: Pid, steps: &[SupervisedStep], mark: &GuardMark) -> Option<Fence> {
    let group = getpgid(Some(orphan)).ok();
    let by_group = steps.iter().find(|step| step.leader.is_some() && step.leader == group);
    let fence = Cell::new(by_group.map(|step| step.fence));
    if fence.get().is_none() {
        platform::environment_has(orphan, |entry| {
            fence.set(mark.fence_in(entry));
            fence.get().is_some()
        });
    }
    fence.get()
}

/// Returns the last of the steps that an unmarked orphan may belong to, if that one has ended.
fn last_owner(orphan: &OrphanProcess, steps: &[SupervisedStep]) -> Option<Fence> {
    let mut possible = steps.iter().filter(|step| step.serial <= orphan.seen);
    let first = possible.next()?;
    (possible.next().is_none() && first.has_exited()).then_some(first.fence)
}
