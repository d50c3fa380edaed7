//! The board: who waits for what. Classes, lanes and locks, and which lanes are open.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::class::Class;
use super::config::{PASSED_OVER_MAX, RESERVE_AFTER};
use super::lane::{Lane, LaneKey, Place, Queued, Rank};
use super::lock::Lock;
use crate::id::Fence;
use crate::plan::Placement;
use crate::planted::{Bug, Bugs};
use crate::slab::Slab;
use crate::time::Time;

/// Ready steps and what they wait for.
#[derive(Clone, Debug, Default)]
pub(super) struct Board {
    pub(super) classes: Slab<Class>,
    pub(super) class_ids: BTreeMap<Placement, u32>,
    pub(super) lanes: Slab<Lane>,
    pub(super) lane_ids: BTreeMap<LaneKey, u32>,
    pub(super) locks: Slab<Lock>,
    pub(super) lock_ids: BTreeMap<Box<str>, u32>,
    /// Whether a lane has opened, or may have, since parked workers were last looked at.
    pub(super) stirred: bool,
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
        self.refresh_lock(lock, Time::ZERO);
    }

    /// Whether any step could be handed out, if somebody wanted it.
    pub(super) fn is_open(&self) -> bool {
        self.classes.iter().any(|(_, class)| !class.open.is_empty())
    }

    pub(super) fn push(&mut self, lane: u32, place: Place, queued: Queued) {
        self.lanes[lane].push(place, queued);
        self.refresh(lane, queued.since);
        self.stirred = true;
    }

    pub(super) fn remove(&mut self, lane: u32, place: Place, step: crate::id::StepIx, now: Time) {
        self.lanes[lane].remove(place, step);
        self.refresh(lane, now);
        self.refresh_rivals(lane, now);
    }

    pub(super) fn purge(&mut self, lane: u32, run: u32, now: Time) {
        self.lanes[lane].purge(run);
        self.refresh(lane, now);
        self.refresh_rivals(lane, now);
    }

    /// Takes a lane's locks for a lease. Lanes with a head that is as good, and waits for one of them, have been passed
    /// over.
    pub(super) fn take(&mut self, lane: u32, taker: (Place, Time), fence: Fence) -> Option<Arc<[u32]>> {
        let locks = self.lanes[lane].locks.clone()?;
        self.lanes[lane].passed = 0;
        for lock in &*locks {
            let Self { lanes, locks, .. } = self;
            for other in locks[*lock].lanes.iter().filter(|other| **other != lane) {
                let as_good = |(head, queued): (Place, Queued)| (head.rank, queued.since) <= (taker.0.rank, taker.1);
                if lanes[*other].head().is_some_and(as_good) {
                    lanes[*other].passed += 1;
                }
            }
            locks[*lock].holders.push(fence);
        }
        Some(locks)
    }

    /// Frees a lease's locks.
    pub(super) fn free(&mut self, locks: &[u32], fence: Fence, now: Time) {
        for lock in locks {
            self.locks[*lock].release(fence);
        }
        for lock in locks {
            self.refresh_lock(*lock, now);
        }
    }

    /// Opens or closes a lane in its class, as its head and its locks say.
    pub(super) fn refresh(&mut self, lane: u32, now: Time) {
        let wanted = self.lanes[lane]
            .head()
            .map(|(place, _)| place.rank)
            .filter(|_| self.may_take(lane, now));
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
    pub(super) fn refresh_lock(&mut self, lock: u32, now: Time) {
        for lane in self.locks[lock].lanes.clone() {
            self.refresh(lane, now);
        }
    }

    /// Looks again at all lanes that share a lock with this one: what is reserved for it may have changed.
    pub(super) fn refresh_rivals(&mut self, lane: u32, now: Time) {
        let Some(locks) = self.lanes[lane].locks.clone() else {
            return;
        };
        for lock in &*locks {
            self.refresh_lock(*lock, now);
        }
    }

    /// Whether a step of the lane could take all its locks now: each has a free slot that is not reserved.
    pub(super) fn may_take(&self, lane: u32, now: Time) -> bool {
        let Some(locks) = &self.lanes[lane].locks else {
            return true;
        };
        // What is quickly known first: to look for a reservation is to look at all lanes of a lock.
        locks.iter().all(|lock| self.locks[*lock].free() > 0)
            && locks.iter().all(|lock| self.locks[*lock].free() > 1 || !self.is_reserved(*lock, lane, now))
    }

    /// Whether the last free slot of a lock is kept for another lane than this. Of the lanes that are due at a lock only
    /// the best can have a claim.
    fn is_reserved(&self, lock: u32, lane: u32, now: Time) -> bool {
        let due = |other: &u32| Some((self.due(*other, now)?, *other));
        let best = self.locks[lock].lanes.iter().filter_map(due).min();
        best.is_some_and(|(_, best)| best != lane && self.has_claim(best, now))
    }

    /// Whether locks are kept for the head of a lane: it is due, and no better lane that is due takes one of the same
    /// locks. Two claims therefore never share a lock, and cannot wait for each other.
    fn has_claim(&self, lane: u32, now: Time) -> bool {
        let Some(mine) = self.due(lane, now) else { return false };
        let locks = self.lanes[lane].locks.iter().flat_map(|locks| locks.iter());
        let mut rivals = locks.flat_map(|lock| &self.locks[*lock].lanes).filter(|other| **other != lane);
        !rivals.any(|other| self.due(*other, now).is_some_and(|theirs| (theirs, *other) < (mine, lane)))
    }

    /// How good the claim of a lane is whose head was passed over or waited too long, and that somebody could run: the
    /// more often it was passed over the better.
    fn due(&self, lane: u32, now: Time) -> Option<(Reverse<u32>, Rank, Time)> {
        if self.bugs.on(Bug::TwoLockStarvation) {
            return None;
        }
        let it = &self.lanes[lane];
        let (place, queued) = it.head()?;
        let due = it.passed >= PASSED_OVER_MAX || now.since(queued.since) >= RESERVE_AFTER;
        (due && self.classes[it.key.class].workers > 0).then_some((Reverse(it.passed), place.rank, queued.since))
    }
}
