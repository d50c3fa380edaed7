//! Orphans of steps: processes whose parent ended before them, which the system gave to the guard.
//!
//! Whose step one belongs to is told by its process group or by the mark in its environment. One that has neither, for
//! it left its group and cleared its environment, belongs to one of the steps that were running when it was first seen:
//! it is ended with the last of them. One that is just dying, or just becoming another program, shows neither: no step is
//! gone before that is over, for it, or its children, may be the step's.

use std::cell::Cell;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::process::{Pid, Signal, WaitOptions, getpgid, kill_process, waitpid};
use windlass_core::id::Fence;
use windlass_core::time::{Span, Time};

use super::spawn::GuardMark;
use super::supervised_step::{StepSignal, SupervisedStep, signal};
use crate::platform;
use crate::platform::ThreadChildren;

/// How long a step waits for an orphan in transition that may be its own. That takes milliseconds; a process whose first
/// thread has ended before the others looks the same for as long as it likes.
const IN_TRANSITION: Span = Span::secs(2);

/// After how long one that may be becoming another program is looked at again: nothing tells when it has.
const LOOK_AGAIN: Span = Span::millis(5);

/// How often they are listed in a row because some had died. More come up only if a step produces them without end: then
/// the guard has to see to other things in between.
const ROUNDS: usize = 16;

/// A living orphan.
#[derive(Debug)]
struct OrphanProcess {
    pid: Pid,
    owner: Option<Fence>,
    /// The newest step when it was first seen, and when that was.
    seen: u64,
    seen_at: Time,
    /// It is dying, or becoming another program, and nobody knows whose it is.
    unclear: bool,
    /// Readable when it has ended.
    watch: Option<Arc<OwnedFd>>,
    signal_sent: StepSignal,
}

/// All orphans.
#[derive(Debug)]
pub(super) struct GuardOrphans {
    orphans: Vec<OrphanProcess>,
    /// Where the system puts them.
    children: ThreadChildren,
    /// The children that are no main process of a step, as last listed.
    listed: Vec<Pid>,
    /// There is one step at a time: all of them are of it.
    of_one_step: bool,
}

impl GuardOrphans {
    /// None yet. They are given to the first thread of the process.
    pub(super) fn new() -> Self {
        let children = ThreadChildren::of_first_thread();
        Self { orphans: Vec::new(), children, listed: Vec::new(), of_one_step: false }
    }

    /// None yet, in a process that has one step at a time: ancestry tells whose they are, and nothing that could block is read.
    pub(super) fn of_one_step() -> Self {
        Self { of_one_step: true, ..Self::new() }
    }

    /// Whether main processes and orphans are told apart whoever starts the former.
    pub(super) const fn are_distinguishable(&self) -> bool {
        self.children.tells_threads_apart()
    }

    /// What becomes readable when one of them ends whose end is waited for.
    pub(super) fn watches(&self) -> impl Iterator<Item = &Arc<OwnedFd>> {
        self.orphans.iter().filter_map(|orphan| orphan.watch.as_ref())
    }

    /// Whether nothing is known of any.
    pub(super) fn is_empty(&self) -> bool {
        self.orphans.is_empty()
    }

    /// Whether there are any of this step, or may be.
    pub(super) fn has_orphans_of(&self, fence: Fence) -> bool {
        self.orphans.iter().any(|orphan| orphan.owner == Some(fence) || orphan.unclear)
    }

    /// How long to wait before they are looked at again, if some tell nothing by themselves.
    pub(super) fn look_again(&self) -> Option<Span> {
        self.orphans.iter().any(|orphan| orphan.unclear).then_some(LOOK_AGAIN)
    }

    /// Takes in new ones, reaps the dead, and finds out whose they are. `own` are the children of the calling thread: who is no
    /// main process was made its child by one.
    pub(super) fn refresh(
        &mut self,
        own: &mut ThreadChildren,
        charges: &[SupervisedStep],
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
            self.listed.retain(|pid| charges.iter().all(|charge| charge.leader != Some(*pid)));
            if self.orphans.is_empty() && self.listed.is_empty() {
                return Ok(());
            }
            self.adopt(seen);
            let some_died = self.reap();
            self.attribute(charges, mark, seen.1);
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

    /// Reaps the dead. True if there were any: their children are orphans now.
    fn reap(&mut self) -> bool {
        let before = self.orphans.len();
        self.orphans
            .retain(|orphan| matches!(waitpid(Some(orphan.pid), WaitOptions::NOHANG), Ok(None)));
        self.orphans.len() < before
    }

    /// Finds out whose they are. Those of steps that are gone are killed.
    fn attribute(&mut self, charges: &[SupervisedStep], mark: &GuardMark, now: Time) {
        if self.of_one_step {
            return self.attribute_to(charges.first());
        }
        for orphan in self.orphans.iter_mut().filter(|orphan| orphan.owner.is_none()) {
            let (marked, clear) = owner_if_clear(orphan.pid, charges, mark);
            let of_living = marked.filter(|of| charges.iter().any(|charge| charge.fence == *of));
            orphan.owner = of_living.or_else(|| last_owner(orphan, charges));
            let young = now.since(orphan.seen_at) < IN_TRANSITION;
            orphan.unclear = orphan.owner.is_none() && young && !clear;
            let of_gone = charges.iter().all(|charge| charge.serial > orphan.seen);
            if orphan.owner.is_none() && (marked.is_some() || of_gone) {
                orphan.signal(StepSignal::Kill);
            }
            if orphan.unclear {
                orphan.watch_exit();
            }
        }
    }

    /// All are of one step. Without one they are left of the last, and are killed.
    fn attribute_to(&mut self, charge: Option<&SupervisedStep>) {
        for orphan in self.orphans.iter_mut().filter(|orphan| orphan.owner.is_none()) {
            match charge {
                Some(charge) => orphan.owner = Some(charge.fence),
                None => orphan.signal(StepSignal::Kill),
            }
        }
    }

    /// Ends all that there are by now, known or not.
    pub(super) fn kill_all(&mut self) -> io::Result<()> {
        self.listed.clear();
        self.children.list(&mut self.listed)?;
        kill(&self.listed);
        Ok(())
    }

    /// Tells those of a step what the step was told.
    pub(super) fn signal_orphans_of(&mut self, charge: &SupervisedStep) {
        for orphan in self.orphans.iter_mut().filter(|orphan| orphan.owner == Some(charge.fence)) {
            orphan.signal(charge.signal_sent);
        }
    }
}

/// Ends processes by force and at once.
pub(super) fn kill(children: &[Pid]) {
    for child in children {
        // It fails if it may not be signalled: then its end is awaited all the same.
        let _ = kill_process(*child, Signal::KILL);
    }
}

impl OrphanProcess {
    fn signal(&mut self, what: StepSignal) {
        if self.signal_sent < what {
            self.signal_sent = what;
            signal(what, |signal| {
                // The guard alone reaps it: its number is its own. It fails for a process that may not be signalled.
                let _ = kill_process(self.pid, signal);
            });
        }
        if self.signal_sent > StepSignal::None {
            self.watch_exit();
        }
    }

    fn watch_exit(&mut self) {
        if self.watch.is_none() {
            self.watch = platform::exit_descriptor(self.pid).map(Arc::new);
        }
    }
}

/// The step that a process is of, and whether that is clear: one in transition shows nothing of itself. One that came out
/// of it since it was looked at is looked at again.
fn owner_if_clear(
    orphan: Pid,
    charges: &[SupervisedStep],
    mark: &GuardMark,
) -> (Option<Fence>, bool) {
    let of = || owner_of(orphan, charges, mark);
    match of() {
        Some(fence) => (Some(fence), true),
        None if platform::in_transition(orphan) => (None, false),
        None => (of(), true),
    }
}

/// The step that a process is of by its group or, else, by its mark; that one may be gone.
fn owner_of(orphan: Pid, charges: &[SupervisedStep], mark: &GuardMark) -> Option<Fence> {
    let group = getpgid(Some(orphan)).ok();
    let by_group = charges.iter().find(|charge| charge.leader.is_some() && charge.leader == group);
    let fence = Cell::new(by_group.map(|charge| charge.fence));
    if fence.get().is_none() {
        platform::environment_has(orphan, |entry| {
            fence.set(mark.fence_in(entry));
            fence.get().is_some()
        });
    }
    fence.get()
}

/// Of the steps that an unmarked orphan may belong to, the last one, if that has ended.
fn last_owner(orphan: &OrphanProcess, charges: &[SupervisedStep]) -> Option<Fence> {
    let mut possible = charges.iter().filter(|charge| charge.serial <= orphan.seen);
    let first = possible.next()?;
    (possible.next().is_none() && first.has_exited()).then_some(first.fence)
}
