//! Lost history: the store was restored from a backup, or a lagging standby of the database took over.
//!
//! Two measures follow. *Fences must not repeat*: the next generation begins, with fences greater than any before, and
//! every lease must be presented again, as after a takeover. *Lost grants may still run*: a worker may hold leases that
//! the journal does not contain, and it ends their steps only when the leases are over. Until the longest possible
//! lease has passed, nothing is granted that must not run beside such a grant. This is the **embargo**. It applies to
//! steps with locks, keys or `on_lost_contact: stop`, and to steps with `lost: 0` of runs that the lost part may have
//! contained.
//!
//! When a node wins a term, the store has to prove that its history is unbroken ([`StoreHistory`]). Each journal
//! documents beside its code what it accepts as proof. An unproven history needs no embargo if only processes of one
//! host can lead the store and no worker of another host has ever registered. Workers of that host end with its boot, and
//! within a boot the store proves its history; the next incarnation of a worker does not begin before the former one has
//! ended. The journal records whether a worker of another host registered, so a copy from before the first registration
//! is not covered. Where nodes of several hosts can lead, each has a worker that does not end with its leadership, so an
//! unproven history counts as lost ([`WonTerm`](crate::leader::WonTerm)).
//!
//! Nothing can be proven about another store: when several instances share a run, an instance that leads after another
//! one begins with a store of its own. It requests an embargo itself (`Request::Embargo`), for as long as leases last
//! there.
//!
//! A copy of a store may be indistinguishable from the store itself. A worker that presents a lease beyond the newest
//! one reveals it. This comes late, but not too late for everything. The leader records it as a takeover by itself. The
//! presented lease is the only evidence, and generations are few, so the engine accepts it once per term. This is
//! enough, because a store loses nothing under its leader. It is also accepted only for a generation that is near.

use serde::{Deserialize, Serialize};

use super::takeover_gap::ProvenTime;
use crate::engine::event;
use crate::engine::queue::lane::ReadyLane;
use crate::engine::rules::decide::DecisionDraft;
use crate::engine::state::engine::Engine;
use crate::id::{Fence, StepIx};
use crate::planted_bugs::PlantedBug;
use crate::slab::RunIx;
use crate::time::{Span, Time};

/// The longest lease. After lost history, locks wait this long, whatever the lost leases were. It is short enough to
/// wait for, and long enough for a worker behind any network.
pub const LEASE_TTL_MAX: Span = Span::mins(10);

/// The fences per millisecond. After a loss, fences continue from the time: a generation that was lost may come again,
/// and its fences must not. No cluster grants more leases in a millisecond.
const FENCES_PER_MS: u64 = 64;

/// The maximum of a fence's count, less a reserve for further grants.
const FENCE_MAX: u64 = 1 << 47;

/// The number of generations that a store may have lost at once: each one is a restored backup, or a standby that took
/// over.
const GENERATION_LEAP_MAX: u16 = 16;

/// What a store can prove about its history when a term is won.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum StoreHistory {
    /// Everything that an earlier leader acknowledged is present.
    Unbroken,
    /// Nothing is known to be missing, but nothing proves that the history is complete.
    Unproven,
    /// Part of the history is missing.
    Lost,
}

/// The period in which grants may be missing from the journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GrantEmbargo {
    /// When the newest embargo began: the lost part cannot contain runs that were submitted later.
    pub(in crate::engine) since: Time,
    /// When every lost grant has ended; jumps of journal time [move](super::takeover_gap) it.
    pub(in crate::engine) until: Time,
}

impl Engine {
    /// Returns the generation and the embargo that a takeover with such a history begins.
    pub(in crate::engine) fn takeover_generation(
        &self,
        history: StoreHistory,
        generation: u16,
    ) -> (u16, Option<Time>) {
        let next = generation.max(self.generation.saturating_add(1));
        match history {
            StoreHistory::Unbroken => (generation, None),
            StoreHistory::Unproven if !self.met_others => (next, None),
            StoreHistory::Unproven | StoreHistory::Lost => (next, self.embargo_from_now()),
        }
    }

    pub(in crate::engine) fn embargo_from_now(&self) -> Option<Time> {
        let bugs = self.config.bugs;
        let lasts = if bugs.on(PlantedBug::EmbargoTooShort) {
            self.ttl.divided_by(3)
        } else {
            LEASE_TTL_MAX
        };
        (!bugs.on(PlantedBug::EmbargoSkipped)).then_some(self.now + lasts)
    }

    /// Begins an embargo for grants of another store. It is recorded as a takeover by the leader itself.
    pub(in crate::engine) fn embargo(&mut self, out: &mut DecisionDraft, lasts: Span) {
        let (term, ttl, generation, own) = (self.term, self.ttl, self.generation, self.own);
        let embargo = Some(self.now + lasts.min(LEASE_TTL_MAX));
        let proven = ProvenTime::NONE;
        self.emit(out, event::Led { term, ttl, generation, own, embargo, proven });
    }

    /// Applies the embargo of a takeover. It never shortens an earlier embargo.
    pub(in crate::engine) fn embargo_begins(&mut self, embargo: Option<Time>) {
        if let Some(until) = embargo {
            let by_time = self.now.as_millis().saturating_mul(FENCES_PER_MS).min(FENCE_MAX);
            self.embargo = GrantEmbargo { since: self.now, until: until.max(self.embargo.until) };
            self.fences = self.fences.max(by_time);
        }
        if let Some(until) = self.embargo_until() {
            self.timers.set(until, crate::engine::state::timer::EngineTimer::Embargo);
        }
    }

    /// Returns the end of the embargo; `None` if there is none.
    pub fn embargo_until(&self) -> Option<Time> {
        (self.embargo.until > self.now).then_some(self.embargo.until)
    }

    /// Returns until when the embargo keeps the first step of a lane from being granted.
    pub(crate) fn lane_embargo(&self, lane: &ReadyLane) -> Option<Time> {
        self.embargo_until().filter(|_| lane.key.exclusive)?;
        let (position, queued) = lane.head()?;
        self.step_embargo(position.run, queued.step)
    }

    /// Returns the same for a step. An unacknowledged grant of such a step is not resent either: the lost part of the
    /// history may have given it up, and granted the step to another worker.
    pub(in crate::engine) fn step_embargo(&self, run: RunIx, step: StepIx) -> Option<Time> {
        let until = self.embargo_until()?;
        let run = &self.runs[run];
        let spec = run.spec(step);
        let may_have_started = spec.retry.lost == 0 && run.submitted_at <= self.embargo.since;
        (spec.stops_on_lost_contact() || may_have_started).then_some(until)
    }

    /// Begins another generation if one of these leases is newer than every lease in the journal.
    pub(in crate::engine) fn detect_lost_history(
        &mut self,
        out: &mut DecisionDraft,
        presented: impl Iterator<Item = Fence>,
    ) {
        let newest = Fence::new(self.generation, self.fences);
        let near = |fence: &Fence| {
            fence.generation() <= self.generation.saturating_add(GENERATION_LEAP_MAX)
        };
        let Some(beyond) = presented.filter(near).max().filter(|fence| *fence > newest) else {
            return;
        };
        if self.loss_noticed {
            return;
        }
        // No generation follows the last one.
        let Some(generation) = beyond.generation().checked_add(1) else { return };
        let (generation, embargo) = self.takeover_generation(StoreHistory::Lost, generation);
        let (term, ttl, own) = (self.term, self.ttl, self.own);
        self.emit(
            out,
            event::Led { term, ttl, generation, own, embargo, proven: ProvenTime::NONE },
        );
    }
}
