//! The queues of ready steps: classes, lanes and locks, and the lanes that are open.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::lane::{LaneKey, LanePosition, QueuedStep, ReadyLane};
use super::lock::Lock;
use super::requirement_class::{ClassKey, RequirementClass};
use crate::engine::config::PASSED_OVER_MAX;
use crate::id::{Fence, StepIx};
use crate::planted_bugs::PlantedBugs;
use crate::slab::{ClassIx, LaneIx, LockIx, RunIx, Slab};
use crate::time::Time;

/// The queues of ready steps, and the locks and classes that these steps wait for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ReadyQueues {
    pub(crate) classes: Slab<ClassIx, RequirementClass>,
    pub(crate) class_ids: BTreeMap<ClassKey, ClassIx>,
    pub(crate) lanes: Slab<LaneIx, ReadyLane>,
    pub(crate) lane_ids: BTreeMap<LaneKey, LaneIx>,
    pub(crate) locks: Slab<LockIx, Lock>,
    pub(crate) lock_ids: BTreeMap<Box<str>, LockIx>,
    /// The number of uses of locks by lanes. Recomputed when a snapshot is read.
    #[serde(skip)]
    pub(crate) lock_uses: usize,
    /// The number of labels and worker names that classes demand. Recomputed when a snapshot is read.
    #[serde(skip)]
    pub(crate) demands: usize,
    /// Whether a lane may have opened since the engine last served parked workers.
    pub(crate) stirred: bool,
    /// The number of online workers that have what the steps of a class prefer. Recomputed when a snapshot is read.
    #[serde(skip)]
    pub(crate) preferred_workers: BTreeMap<ClassIx, u32>,
    /// The number of lanes and classes visited so far. A decision that visits many leaves the rest to the next one.
    #[serde(skip)]
    pub(crate) scans: u64,
    #[serde(skip)]
    pub(crate) bugs: PlantedBugs,
}

impl ReadyQueues {
    /// Returns the class of this key. The second value is true if the class is new and its workers must be counted.
    pub(crate) fn class(&mut self, key: ClassKey, now: Time) -> (ClassIx, bool) {
        if let Some(known) = self.class_ids.get(&key) {
            return (*known, false);
        }
        self.demands += key.placement.demand_count();
        let class = self.classes.insert(RequirementClass::new(key.clone(), now));
        self.class_ids.insert(key, class);
        (class, true)
    }

    /// Returns the lock of this name, and creates it if necessary.
    pub(crate) fn lock(&mut self, name: &str) -> LockIx {
        if let Some(known) = self.lock_ids.get(name) {
            return *known;
        }
        let lock = self.locks.insert(Lock::new(name));
        self.lock_ids.insert(name.into(), lock);
        lock
    }

    /// Returns the lane of this key with one more user, and creates it if necessary.
    pub(crate) fn use_lane(&mut self, key: LaneKey) -> LaneIx {
        let lane = match self.lane_ids.get(&key) {
            Some(known) => *known,
            None => self.new_lane(key),
        };
        self.lanes[lane].users += 1;
        lane
    }

    fn new_lane(&mut self, key: LaneKey) -> LaneIx {
        let lane = self.lanes.insert(ReadyLane::new(key.clone()));
        self.lock_uses += key.locks.len();
        self.classes[key.class].lanes.insert(lane);
        for (lock, _) in &key.locks {
            self.locks[*lock].lanes.insert(lane);
        }
        self.lane_ids.insert(key, lane);
        lane
    }

    /// Removes one user from a lane. A lane without users is removed, and a class without lanes. Returns the removed
    /// class if workers served it.
    pub(crate) fn leave_lane(&mut self, lane: LaneIx) -> Option<ClassIx> {
        self.lanes[lane].users -= 1;
        if self.lanes[lane].users > 0 {
            return None;
        }
        self.close(lane);
        let gone = self.lanes.remove(lane);
        self.lock_uses -= gone.key.locks.len();
        for (lock, _) in &gone.key.locks {
            self.locks[*lock].lanes.remove(&lane);
        }
        self.lane_ids.remove(&gone.key);
        let class = gone.key.class;
        self.classes[class].lanes.remove(&lane);
        if !self.classes[class].lanes.is_empty() {
            return None;
        }
        let gone = self.classes.remove(class);
        self.class_ids.remove(&gone.key);
        self.demands -= gone.placement().demand_count();
        self.preferred_workers.remove(&class);
        (gone.workers > 0).then_some(class)
    }

    /// Declares the locks of a run with their slots. Returns those that have fewer slots than before.
    pub(crate) fn declare_locks<'n>(
        &mut self,
        locks: impl Iterator<Item = (&'n str, u32)>,
    ) -> Vec<LockIx> {
        let (mut declared, mut narrowed) = (Vec::new(), Vec::new());
        for (name, slots) in locks {
            let lock = self.lock(name);
            let before = self.locks[lock].slots();
            self.locks[lock].declare(slots);
            narrowed.extend((self.locks[lock].slots() < before).then_some(lock));
            declared.push(lock);
        }
        self.refresh_locks(&declared);
        narrowed
    }

    /// Removes a run's declarations of locks, and every lock that no run names any more.
    pub(crate) fn withdraw_locks<'n>(&mut self, locks: impl Iterator<Item = (&'n str, u32)>) {
        let mut left = Vec::new();
        for (name, slots) in locks {
            let Some(lock) = self.lock_ids.get(name).copied() else { continue };
            if self.locks[lock].undeclare(slots) {
                self.locks.remove(lock);
                self.lock_ids.remove(name);
            } else {
                left.push(lock);
            }
        }
        self.refresh_locks(&left);
    }

    /// Returns whether any step could be granted if a worker requested one.
    pub(crate) fn is_open(&self) -> bool {
        self.classes.iter().any(|(_, class)| !class.open.is_empty())
    }

    pub(crate) fn push(&mut self, lane: LaneIx, position: LanePosition, queued: QueuedStep) {
        self.lanes[lane].push(position, queued);
        self.head_changed(lane, queued.since);
        self.stirred = true;
    }

    pub(crate) fn remove(&mut self, lane: LaneIx, position: LanePosition, step: StepIx, now: Time) {
        self.lanes[lane].remove(position, step);
        self.head_changed(lane, now);
    }

    /// Removes every step of a run from these lanes.
    pub(crate) fn remove_run(&mut self, lanes: &[LaneIx], run: RunIx, now: Time) {
        for lane in lanes {
            self.lanes[*lane].purge(run);
        }
        self.heads_changed(lanes, now);
    }

    /// Takes a lane's locks for a lease. A waiting lane with an equally good or better head has then been passed over.
    pub(crate) fn acquire_locks(
        &mut self,
        lane: LaneIx,
        taker: (LanePosition, Time),
        fence: Fence,
    ) -> Option<Arc<[LockIx]>> {
        let locks = self.lanes[lane].locks.clone()?;
        self.lanes[lane].passed = 0;
        let mut claims = vec![lane];
        for lock in &*locks {
            self.count_passed_over(*lock, lane, taker, &mut claims);
            self.locks[*lock].holders.push(fence);
        }
        self.refresh_claims(claims, &locks);
        Some(locks)
    }

    /// Counts the lanes of a lock that the taker passes over. Lanes that become due get a new claim.
    fn count_passed_over(
        &mut self,
        lock: LockIx,
        by: LaneIx,
        taker: (LanePosition, Time),
        claims: &mut Vec<LaneIx>,
    ) {
        let Self { lanes, locks, scans: looks, .. } = self;
        let as_good = |(head, queued): (LanePosition, QueuedStep)| {
            (head.rank, queued.since) <= (taker.0.rank, taker.1)
        };
        for other in locks[lock].lanes.iter().filter(|other| **other != by) {
            let it = &mut lanes[*other];
            *looks += 1;
            if it.head().is_some_and(as_good) {
                it.passed += 1;
                it.due |= it.passed >= PASSED_OVER_MAX;
                if it.due {
                    claims.push(*other);
                }
            }
        }
    }

    /// Frees the locks of a lease.
    pub(crate) fn release_locks(&mut self, locks: &[LockIx], fence: Fence) {
        for lock in locks {
            self.locks[*lock].release(fence);
        }
        self.refresh_locks(locks);
    }

    /// Opens or closes a lane in its class, depending on its head and its locks.
    pub(crate) fn refresh(&mut self, lane: LaneIx) {
        let wanted = self.lanes[lane]
            .head()
            .map(|(position, _)| position.rank)
            .filter(|_| self.can_acquire_locks(lane));
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

    fn close(&mut self, lane: LaneIx) {
        if let Some(rank) = self.lanes[lane].listed.take() {
            let class = self.lanes[lane].key.class;
            self.classes[class].open.remove(&(rank, lane));
        }
    }
}
