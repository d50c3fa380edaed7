//! Claims: the lane for which the last free slot of a lock is kept.
//!
//! A lane is *due* when its head was passed over or has waited too long. One of the lanes that are due at a lock is the
//! best. A lane that is the best at each of its locks has a claim to all of them. A change looks at each lane and each
//! lock once, however many locks changed together. Its cost is the number of lanes at the locks that it concerns.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::lane::LaneRank;
use super::ready_queues::ReadyQueues;
use crate::engine::config::{PASSED_OVER_MAX, RESERVE_AFTER};
use crate::planted_bugs::PlantedBug;
use crate::slab::{ClassIx, LaneIx, LockIx, SlabIndex};
use crate::time::Time;

/// The quality of a lane's claim, and the lane; the smallest value is the best.
type LockClaim = ((Reverse<u32>, LaneRank, Time), LaneIx);

/// The lanes that were visited: one bit for each.
struct SeenLanes(Vec<u64>);

impl SeenLanes {
    fn new(lanes: usize) -> Self {
        Self(vec![0; lanes.div_ceil(64)])
    }

    /// Marks a lane as visited. Returns true if it was not visited before.
    fn is_new(&mut self, lane: LaneIx) -> bool {
        let at = lane.position();
        let (word, bit) = (&mut self.0[at / 64], 1_u64 << (at % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }
}

impl ReadyQueues {
    /// Updates the claims after a lane's head has changed, or may have become due.
    pub(crate) fn head_changed(&mut self, lane: LaneIx, now: Time) {
        self.heads_changed(&[lane], now);
    }

    /// Does the same for many lanes, and looks at each lock once.
    pub(crate) fn heads_changed(&mut self, lanes: &[LaneIx], now: Time) {
        let mut claims = Vec::new();
        for lane in lanes {
            let it = &mut self.lanes[*lane];
            if it.locks.is_none() {
                self.refresh(*lane);
                continue;
            }
            let was_due = it.due;
            let waited = it.head().is_some_and(|(_, head)| now.since(head.since) >= RESERVE_AFTER);
            it.due = waited || it.passed >= PASSED_OVER_MAX;
            if was_due || it.due {
                claims.push(*lane);
            } else {
                self.refresh(*lane);
            }
        }
        self.refresh_claims(claims, &[]);
    }

    /// Updates the claims of a class after it gained its first worker or lost its last one: locks are kept only for
    /// steps that a worker could run.
    pub(crate) fn workers_changed(&mut self, class: ClassIx) {
        let lanes = self.classes[class].lanes.iter().copied();
        let due = lanes.filter(|lane| self.lanes[*lane].due).collect();
        self.refresh_claims(due, &[]);
    }

    /// Updates the claims after slots of these locks were taken or freed.
    pub(crate) fn refresh_locks(&mut self, locks: &[LockIx]) {
        self.refresh_claims(Vec::new(), locks);
    }

    /// Opens and closes lanes after the claims of some lanes or the slots of some locks have changed.
    pub(crate) fn refresh_claims(&mut self, mut claims: Vec<LaneIx>, locks: &[LockIx]) {
        if claims.is_empty() && locks.is_empty() {
            return;
        }
        claims.sort_unstable();
        claims.dedup();
        let moved = self.find_best(&claims);
        let mut locks: Vec<LockIx> = locks.to_vec();
        for lane in moved {
            let has_claim = self.is_best_everywhere(lane);
            let it = &mut self.lanes[lane];
            if std::mem::replace(&mut it.has_claim, has_claim) != has_claim {
                locks.extend(it.locks.iter().flat_map(|own| own.iter()));
            }
        }
        locks.sort_unstable();
        locks.dedup();
        let mut seen = SeenLanes::new(self.lanes.position_count());
        let at_locks = locks.iter().flat_map(|lock| &self.locks[*lock].lanes).copied();
        let mut visits = 0;
        let at_locks = at_locks.inspect(|_| visits += 1);
        let lanes: Vec<LaneIx> = at_locks.chain(claims).filter(|lane| seen.is_new(*lane)).collect();
        self.scans += visits;
        for lane in lanes {
            self.scans += self.lanes[lane].locks.as_ref().map_or(1, |own| own.len()) as u64;
            self.refresh(lane);
        }
    }

    /// Finds the best lane of every lock at which a claim has changed. Returns the lanes that may have won or lost a
    /// claim.
    fn find_best(&mut self, claims: &[LaneIx]) -> BTreeSet<LaneIx> {
        let mut moved: BTreeSet<LaneIx> = claims.iter().copied().collect();
        let mut searched = BTreeSet::new();
        for lane in claims {
            let Some(own) = self.lanes[*lane].locks.clone() else { continue };
            let claim = self.claim(*lane);
            self.scans += own.len() as u64;
            for lock in &*own {
                let before = self.locks[*lock].best_due;
                let best = match before {
                    Some(best) if claims.binary_search(&best).is_ok() => {
                        if !searched.insert(*lock) {
                            continue;
                        }
                        self.scans += self.locks[*lock].lanes.len() as u64;
                        self.find_best_due(*lock)
                    }
                    // A lane without a claim does not displace the best one.
                    Some(best) => {
                        claim.into_iter().chain(self.claim(best)).min().map(|(_, lane)| lane)
                    }
                    None => claim.map(|(_, lane)| lane),
                };
                if best != before {
                    self.locks[*lock].best_due = best;
                    moved.extend(before.into_iter().chain(best));
                }
            }
        }
        moved
    }

    /// Returns whether a step of the lane could take all its locks now: each has a free slot that is not kept for
    /// another lane.
    pub(crate) fn can_acquire_locks(&self, lane: LaneIx) -> bool {
        let Some(locks) = &self.lanes[lane].locks else { return true };
        locks.iter().all(|lock| match self.locks[*lock].free() {
            0 => false,
            1 => !self.is_reserved(*lock, lane),
            2.. => true,
        })
    }

    /// Returns whether the last free slot of a lock is kept for another lane. Of the lanes that are due at a lock, only
    /// the best one can have a claim.
    fn is_reserved(&self, lock: LockIx, lane: LaneIx) -> bool {
        self.locks[lock].best_due.is_some_and(|best| best != lane && self.lanes[best].has_claim)
    }

    /// Returns whether locks are kept for the head of a lane: it is due, and no lane is better at any of its locks. Two
    /// claims therefore never share a lock, and cannot wait for each other.
    fn is_best_everywhere(&self, lane: LaneIx) -> bool {
        let mut locks = self.lanes[lane].locks.iter().flat_map(|locks| locks.iter());
        locks.all(|lock| self.locks[*lock].best_due == Some(lane))
    }

    /// Returns the best of the lanes that are due at a lock.
    fn find_best_due(&self, lock: LockIx) -> Option<LaneIx> {
        let due = self.locks[lock].lanes.iter().filter_map(|lane| self.claim(*lane));
        due.min().map(|(_, lane)| lane)
    }

    /// Returns the quality of a lane's claim if the lane is due and a worker could run its head. A lane that was passed
    /// over more often is better.
    fn claim(&self, lane: LaneIx) -> Option<LockClaim> {
        let it = &self.lanes[lane];
        if !it.due
            || self.bugs.on(PlantedBug::TwoLockStarvation)
            || self.classes[it.key.class].workers == 0
        {
            return None;
        }
        let (position, queued) = it.head()?;
        Some(((Reverse(it.passed), position.rank, queued.since), lane))
    }

    /// Recomputes the fields that a snapshot does not contain.
    pub(crate) fn recount(&mut self) {
        self.lock_uses = self.lanes.iter().map(|(_, lane)| lane.key.locks.len()).sum();
        self.demands = self.classes.iter().map(|(_, it)| it.placement().demand_count()).sum();
        for lane in self.lanes.indices() {
            let has_claim = self.lanes[lane].locks.is_some() && self.is_best_everywhere(lane);
            self.lanes[lane].has_claim = has_claim;
        }
    }

    /// Returns the locks and lanes with a best lane, a claim or a listing that contradicts the state. For tests.
    pub(crate) fn stale_claims(&self) -> Vec<String> {
        let locks = self.locks.iter().filter(|(at, lock)| lock.best_due != self.find_best_due(*at));
        let locks = locks.map(|(_, lock)| format!("lock {} has another best lane", lock.name));
        let wrong = |lane: LaneIx| {
            let it = &self.lanes[lane];
            let has_claim = it.locks.is_some() && self.is_best_everywhere(lane);
            let listed = it
                .head()
                .map(|(position, _)| position.rank)
                .filter(|_| self.can_acquire_locks(lane));
            it.has_claim != has_claim || it.listed != listed
        };
        let lanes = self.lanes.indices().into_iter().filter(|lane| wrong(*lane));
        locks.chain(lanes.map(|lane| format!("lane {lane} is not settled"))).collect()
    }
}
