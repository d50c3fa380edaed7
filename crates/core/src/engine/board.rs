//! The board: who waits for what. Classes, lanes and locks, and which lanes are open.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::class::Class;
use super::config::{PASSED_OVER_MAX, RESERVE_AFTER};
use super::lane::{Lane, LaneKey, Place, Queued, Rank};
use super::lock::Lock;
use crate::id::{Fence, StepIx};
use crate::plan::Placement;
use crate::planted::{Bug, Bugs};
use crate::slab::Slab;
use crate::time::Time;

/// Ready steps and what they wait for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Board {
    pub(super) classes: Slab<Class>,
    pub(super) class_ids: BTreeMap<Placement, u32>,
    pub(super) lanes: Slab<Lane>,
    pub(super) lane_ids: BTreeMap<LaneKey, u32>,
    pub(super) locks: Slab<Lock>,
    pub(super) lock_ids: BTreeMap<Box<str>, u32>,
    /// Whether a lane has opened, or may have, since parked workers were last looked at.
    pub(super) stirred: bool,
    /// Workers online that suit a class, where its steps prefer something. Counted anew when a snapshot is read.
    #[serde(skip)]
    pub(super) suitors: BTreeMap<u32, u32>,
    #[serde(skip)]
    pub(super) bugs: Bugs,
}

impl Board {
    /// The class of this placement. The second value tells that it is new and its workers are to be counted.
    pub(super) fn class(&mut self, placement: &Placement, now: Time) -> (u32, bool) {
        if let Some(known) = self.class_ids.get(placement) {
            return (*known, false);
        }
        let class = self.classes.insert(Class::new(placement.clone(), now));
        self.class_ids.insert(placement.clone(), class);
        (class, true)
    }

    /// The lock of this name, made if need be.
    pub(super) fn lock(&mut self, name: &str) -> u32 {
        if let Some(known) = self.lock_ids.get(name) {
            return *known;
        }
        let lock = self.locks.insert(Lock::new(name));
        self.lock_ids.insert(name.into(), lock);
        lock
    }

    /// The lane of this key, with one more user.
    pub(super) fn use_lane(&mut self, key: LaneKey) -> u32 {
        let lane = match self.lane_ids.get(&key) {
            Some(known) => *known,
            None => self.new_lane(key),
        };
        self.lanes[lane].users += 1;
        lane
    }

    fn new_lane(&mut self, key: LaneKey) -> u32 {
        let lane = self.lanes.insert(Lane::new(key.clone()));
        self.classes[key.class].lanes.insert(lane);
        for (lock, _) in &key.locks {
            self.locks[*lock].lanes.push(lane);
        }
        self.lane_ids.insert(key, lane);
        lane
    }

    /// Takes one user from a lane; a lane without users goes, and its class with its last lane. Returns the class
    /// that went.
    pub(super) fn leave_lane(&mut self, lane: u32) -> Option<u32> {
        self.lanes[lane].users -= 1;
        if self.lanes[lane].users > 0 {
            return None;
        }
        self.close(lane);
        let gone = self.lanes.remove(lane);
        for (lock, _) in &gone.key.locks {
            self.locks[*lock].lanes.retain(|other| *other != lane);
        }
        self.lane_ids.remove(&gone.key);
        let class = gone.key.class;
        self.classes[class].lanes.remove(&lane);
        if !self.classes[class].lanes.is_empty() {
            return None;
        }
        let gone = self.classes.remove(class);
        self.class_ids.remove(&gone.placement);
        self.suitors.remove(&class);
        Some(class)
    }

    /// Takes back a run's declaration of a lock; a lock that no run names goes.
    pub(super) fn withdraw_lock(&mut self, name: &str, slots: u32) {
        let Some(lock) = self.lock_ids.get(name).copied() else {
            return;
        };
        if self.locks[lock].withdraw(slots) {
            self.locks.remove(lock);
            self.lock_ids.remove(name);
            return;
        }
        self.refresh_lock(lock);
    }

    /// Whether any step could be handed out, if somebody wanted it.
    pub(super) fn is_open(&self) -> bool {
        self.classes.iter().any(|(_, class)| !class.open.is_empty())
    }

    pub(super) fn push(&mut self, lane: u32, place: Place, queued: Queued) {
        self.lanes[lane].push(place, queued);
        self.head_changed(lane, queued.since);
        self.stirred = true;
    }

    pub(super) fn remove(&mut self, lane: u32, place: Place, step: StepIx, now: Time) {
        self.lanes[lane].remove(place, step);
        self.head_changed(lane, now);
    }

    pub(super) fn purge(&mut self, lane: u32, run: u32, now: Time) {
        self.lanes[lane].purge(run);
        self.head_changed(lane, now);
    }

    /// Takes a lane's locks for a lease. Lanes with a head that is as good, and waits for one of them, have been passed
    /// over.
    pub(super) fn take(
        &mut self,
        lane: u32,
        taker: (Place, Time),
        fence: Fence,
    ) -> Option<Arc<[u32]>> {
        let locks = self.lanes[lane].locks.clone()?;
        self.lanes[lane].passed = 0;
        for lock in &*locks {
            let Self { lanes, locks, .. } = self;
            for other in locks[*lock].lanes.iter().filter(|other| **other != lane) {
                let as_good = |(head, queued): (Place, Queued)| {
                    (head.rank, queued.since) <= (taker.0.rank, taker.1)
                };
                if lanes[*other].head().is_some_and(as_good) {
                    lanes[*other].passed += 1;
                    lanes[*other].due |= lanes[*other].passed >= PASSED_OVER_MAX;
                }
            }
            locks[*lock].holders.push(fence);
        }
        // Where nobody is due there are no claims, and nothing follows beyond these locks.
        if locks.iter().flat_map(|lock| &self.locks[*lock].lanes).any(|lane| self.lanes[*lane].due)
        {
            self.refresh_rivals(lane);
        } else {
            self.refresh_locks(&locks);
        }
        Some(locks)
    }

    /// Frees a lease's locks.
    pub(super) fn free(&mut self, locks: &[u32], fence: Fence) {
        for lock in locks {
            self.locks[*lock].release(fence);
        }
        self.refresh_locks(locks);
    }

    fn refresh_locks(&mut self, locks: &[u32]) {
        for lock in locks {
            self.refresh_lock(*lock);
        }
    }

    /// Opens or closes a lane in its class, as its head and its locks say.
    fn refresh(&mut self, lane: u32) {
        let wanted =
            self.lanes[lane].head().map(|(place, _)| place.rank).filter(|_| self.may_take(lane));
        if self.lanes[lane].listed == wanted {
            return;
        }
        self.close(lane);
        if let Some(rank) = wanted {
            let class = self.lanes[lane].key.class;
            self.classes[class].open.insert((rank, lane));
            self.lanes[lane].listed = Some(rank);
            self.stirred = true;
        }
    }

    fn close(&mut self, lane: u32) {
        if let Some(rank) = self.lanes[lane].listed.take() {
            let class = self.lanes[lane].key.class;
            self.classes[class].open.remove(&(rank, lane));
        }
    }

    /// Looks again at all lanes that take a lock.
    pub(super) fn refresh_lock(&mut self, lock: u32) {
        for at in 0..self.locks[lock].lanes.len() {
            self.refresh(self.locks[lock].lanes[at]);
        }
    }

    /// A lane's head has changed, or whether it is due.
    pub(super) fn head_changed(&mut self, lane: u32, now: Time) {
        if self.lanes[lane].locks.is_none() {
            return self.refresh(lane);
        }
        let it = &mut self.lanes[lane];
        let was_due = it.due;
        let waited = it.head().is_some_and(|(_, head)| now.since(head.since) >= RESERVE_AFTER);
        it.due = waited || it.passed >= PASSED_OVER_MAX;
        if was_due || it.due {
            self.refresh_rivals(lane);
        } else {
            self.refresh(lane);
        }
    }

    /// Looks again at all lanes that this one's claim can open or close: those that share a lock with it, and those
    /// that share one with these, whose claims depend on this one's.
    pub(super) fn refresh_rivals(&mut self, lane: u32) {
        let Some(own) = self.lanes[lane].locks.clone() else { return };
        let rivals = own.iter().flat_map(|lock| &self.locks[*lock].lanes);
        let locks: BTreeSet<u32> = rivals
            .filter_map(|rival| self.lanes[*rival].locks.as_deref())
            .flatten()
            .copied()
            .collect();
        for lock in &locks {
            self.locks[*lock].best_due = self.find_best_due(*lock);
        }
        for lock in locks {
            self.refresh_lock(lock);
        }
    }

    /// Whether a step of the lane could take all its locks now: each has a free slot that is not kept for another.
    pub(super) fn may_take(&self, lane: u32) -> bool {
        let Some(locks) = &self.lanes[lane].locks else { return true };
        // What is quickly known first: to look for a claim is to look at all lanes of a lock.
        locks.iter().all(|lock| self.locks[*lock].free() > 0)
            && locks
                .iter()
                .all(|lock| self.locks[*lock].free() > 1 || !self.is_reserved(*lock, lane))
    }

    /// Whether the last free slot of a lock is kept for another lane than this. Of the lanes that are due at a lock only
    /// the best can have a claim.
    fn is_reserved(&self, lock: u32, lane: u32) -> bool {
        self.best_due(lock).is_some_and(|best| best != lane && self.has_claim(best))
    }

    /// Whether locks are kept for the head of a lane: it is due, and at none of its locks a better one is. Two claims
    /// therefore never share a lock, and cannot wait for each other.
    fn has_claim(&self, lane: u32) -> bool {
        let mut locks = self.lanes[lane].locks.iter().flat_map(|locks| locks.iter());
        locks.all(|lock| self.best_due(*lock) == Some(lane))
    }

    /// The best of the lanes at a lock that are due, as it was found when a claim there last changed.
    fn best_due(&self, lock: u32) -> Option<u32> {
        debug_assert_eq!(self.locks[lock].best_due, self.find_best_due(lock));
        self.locks[lock].best_due
    }

    fn find_best_due(&self, lock: u32) -> Option<u32> {
        let due =
            self.locks[lock].lanes.iter().filter_map(|lane| Some((self.claim(*lane)?, *lane)));
        due.min().map(|(_, lane)| lane)
    }

    /// How good the claim of a lane is whose head was passed over or waited too long, and that somebody could run: the
    /// more often it was passed over the better.
    fn claim(&self, lane: u32) -> Option<(Reverse<u32>, Rank, Time)> {
        let it = &self.lanes[lane];
        if !it.due
            || self.bugs.on(Bug::TwoLockStarvation)
            || self.classes[it.key.class].workers == 0
        {
            return None;
        }
        let (place, queued) = it.head()?;
        Some((Reverse(it.passed), place.rank, queued.since))
    }
}
