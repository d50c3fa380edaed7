//! Orphans of steps: processes whose parent ended before them, which the system gave to the guard.
//!
//! Whose step one belongs to is told by its process group or by the mark in its environment. One that has neither, for
//! it left its group and cleared its environment, belongs to one of the steps that were running when it was first seen:
//! it is ended with the last of them. One that is just dying shows neither: no step is gone before it is dead, for its
//! children may be the step's.

use std::cell::Cell;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::process::{Pid, WaitOptions, getpgid, kill_process, waitpid};
use windlass_core::id::Fence;
use windlass_core::time::{Span, Time};

use super::charge::{Charge, Told, signal};
use super::program::Mark;
use crate::worker::platform;

/// How long a step waits for a dying orphan that may be its own. Dying takes milliseconds; a process whose first thread
/// has ended before the others looks the same for as long as it likes.
const DYING_WITHIN: Span = Span::secs(2);

/// A living orphan.
#[derive(Debug)]
struct Orphan {
    pid: Pid,
    owner: Option<Fence>,
    /// The newest step when it was first seen, and when that was.
    seen: u64,
    seen_at: Time,
    /// It is dying, and nobody knows whose it is.
    dying: bool,
    /// Readable when it has ended.
    watch: Option<Arc<OwnedFd>>,
    told: Told,
}

/// All orphans.
#[derive(Debug, Default)]
pub(super) struct Adopted(Vec<Orphan>);

impl Adopted {
    /// What becomes readable when one of them ends whose end is waited for.
    pub(super) fn watches(&self) -> impl Iterator<Item = &Arc<OwnedFd>> {
        self.0.iter().filter_map(|orphan| orphan.watch.as_ref())
    }

    /// Whether nothing is known of any.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether there are any of this step, or may be.
    pub(super) fn has_of(&self, fence: Fence) -> bool {
        self.0.iter().any(|orphan| orphan.owner == Some(fence) || orphan.dying)
    }

    /// Takes in children that are no main process of a step.
    pub(super) fn take_in(&mut self, children: &[Pid], seen: (u64, Time)) {
        for pid in children.iter().copied() {
            if self.0.iter().all(|orphan| orphan.pid != pid) {
                self.0.push(Orphan {
                    pid,
                    owner: None,
                    seen: seen.0,
                    seen_at: seen.1,
                    dying: false,
                    watch: None,
                    told: Told::Nothing,
                });
            }
        }
    }

    /// Reaps the dead. True if there were any: their children are orphans now.
    pub(super) fn reap(&mut self) -> bool {
        let before = self.0.len();
        self.0.retain(|orphan| matches!(waitpid(Some(orphan.pid), WaitOptions::NOHANG), Ok(None)));
        self.0.len() < before
    }

    /// Finds out whose they are. Those of steps that are gone are killed.
    pub(super) fn attribute(&mut self, charges: &[Charge], mark: &Mark, now: Time) {
        for orphan in self.0.iter_mut().filter(|orphan| orphan.owner.is_none()) {
            let marked = marked(orphan.pid, charges, mark);
            let of_living = marked.filter(|of| charges.iter().any(|charge| charge.fence == *of));
            orphan.owner = of_living.or_else(|| last_owner(orphan, charges));
            let young = now.since(orphan.seen_at) < DYING_WITHIN;
            orphan.dying = orphan.owner.is_none() && young && platform::is_dying(orphan.pid);
            let of_gone = charges.iter().all(|charge| charge.serial > orphan.seen);
            if orphan.owner.is_none() && (marked.is_some() || of_gone) {
                orphan.tell(Told::Killed);
            }
            if orphan.dying {
                orphan.wait_for();
            }
        }
    }

    /// Tells those of a step what the step was told.
    pub(super) fn follow(&mut self, charge: &Charge) {
        for orphan in self.0.iter_mut().filter(|orphan| orphan.owner == Some(charge.fence)) {
            orphan.tell(charge.told);
        }
    }
}

impl Orphan {
    fn tell(&mut self, what: Told) {
        if self.told < what {
            self.told = what;
            signal(what, |signal| {
                // The guard alone reaps it: its number is its own. It fails for a process that may not be signalled.
                let _ = kill_process(self.pid, signal);
            });
        }
        if self.told > Told::Nothing {
            self.wait_for();
        }
    }

    fn wait_for(&mut self) {
        if self.watch.is_none() {
            self.watch = platform::watch(self.pid).map(Arc::new);
        }
    }
}

/// The step that a process is of by its group or, else, by its mark; that one may be gone.
fn marked(orphan: Pid, charges: &[Charge], mark: &Mark) -> Option<Fence> {
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
fn last_owner(orphan: &Orphan, charges: &[Charge]) -> Option<Fence> {
    let mut possible = charges.iter().filter(|charge| charge.serial <= orphan.seen);
    let first = possible.next()?;
    (possible.next().is_none() && first.has_exited()).then_some(first.fence)
}
