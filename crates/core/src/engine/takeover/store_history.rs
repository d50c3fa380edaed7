//! A store that may have lost what was committed: restored from a backup, or led by a standby that lagged behind.
//!
//! Two things follow. *Fences would come a second time*, so they are of the next generation from there on, greater than
//! any before, and every lease has to be presented anew, as after a takeover. And *lost grants may still run*: a worker
//! holds them that the journal does not know of, and it ends what must not outlive its lease only when the lease is over.
//! So nothing is granted that must not run beside such a grant until the longest lease there can be has passed: the
//! **embargo**. It concerns steps with locks, keys or `on_lost_contact: stop`, and steps with `lost: 0` of runs that the
//! lost part may have known.
//!
//! Whether the history is unbroken the store has to prove when a term is won ([`StoreHistory`]); each journal says beside its
//! code what it accepts as proof. Where no worker but the leader's own has ever registered an unproven history needs no
//! embargo: that worker is on the leader's machine, and its next life does not begin before its last one has ended. The journal
//! itself says whether another one registered, so a copy from before the first registration is not covered.
//!
//! Of a store that is another one altogether nothing can be proven: of several instances of a run, one that leads after
//! another begins with its own. It asks for an embargo itself (`Request::Embargo`), for as long as leases last there.
//!
//! A copy of a store that nothing tells from the store itself is found out by a worker that holds a lease beyond the newest
//! one. That is late, but not too late for everything: what is recorded then is a takeover, by the leader itself. A
//! worker's word is all that there is to it, and generations are few. So it is believed once in a term, which is enough: a
//! store loses nothing under its leader, who would be one of another history then. And it is believed only about a
//! generation that is near.

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

/// The longest lease. Locks wait that long after lost history, whatever the lost leases were: so it is short enough to
/// wait for, and long enough for a worker behind any network.
pub const LEASE_TTL_MAX: Span = Span::mins(10);

/// Fences go on from the time, in such parts, where some may be lost: a generation that is lost with them comes again, and
/// its fences must not. No cluster grants more in a millisecond.
const FENCES_PER_MS: u64 = 64;

/// What a fence has room for beside its generation, less what may still be granted.
const FENCE_MAX: u64 = 1 << 47;

/// How many generations a store may have lost at once: each is a backup that was put back, or a standby that took over.
const GENERATION_LEAP_MAX: u16 = 16;

/// What a store can say about its history when a term is won.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StoreHistory {
    /// Everything that an earlier leader acknowledged is there.
    Unbroken,
    /// Nothing is known to be missing, and nothing proves that nothing is.
    Unproven,
    /// Something is missing.
    Lost,
}

/// While grants may be missing from the journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GrantEmbargo {
    /// When the newest one began: runs that came later cannot have been granted in the lost part.
    pub(in crate::engine) since: Time,
    /// When every lost grant has ended; leaps of journal time [move](super::takeover_gap) it.
    pub(in crate::engine) until: Time,
}

impl Engine {
    /// The generation and the embargo that a takeover with such a history begins.
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

    /// Begins an embargo for grants of a store that is not this one. It is recorded as a takeover by the leader itself.
    pub(in crate::engine) fn embargo(&mut self, out: &mut DecisionDraft, lasts: Span) {
        let (term, ttl, generation, own) = (self.term, self.ttl, self.generation, self.own);
        let embargo = Some(self.now + lasts.min(LEASE_TTL_MAX));
        let proven = ProvenTime::NONE;
        self.emit(out, event::Led { term, ttl, generation, own, embargo, proven });
    }

    /// Another takeover does not end an embargo, and lengthens it if its own history is not proven either.
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

    /// Until when lost grants may still run, if they may.
    pub fn embargo_until(&self) -> Option<Time> {
        (self.embargo.until > self.now).then_some(self.embargo.until)
    }

    /// Until when the first step of a lane must not be granted because a lost grant may still run.
    pub(crate) fn lane_embargo(&self, lane: &ReadyLane) -> Option<Time> {
        self.embargo_until().filter(|_| lane.key.exclusive)?;
        let (place, queued) = lane.head()?;
        self.step_embargo(place.run, queued.step)
    }

    /// The same for a step. A grant of it that its worker does not know yet is not sent again either: the lost part of the history
    /// may have given it up, and granted the step to another worker.
    pub(in crate::engine) fn step_embargo(&self, run: RunIx, step: StepIx) -> Option<Time> {
        let until = self.embargo_until()?;
        let run = &self.runs[run];
        let spec = run.spec(step);
        let may_have_started = spec.retry.lost == 0 && run.submitted_at <= self.embargo.since;
        (spec.stops_on_lost_contact() || may_have_started).then_some(until)
    }

    /// Begins another generation if one of these leases is beyond all that the journal has.
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
        // Of the last generation there is none beyond.
        let Some(generation) = beyond.generation().checked_add(1) else { return };
        let (generation, embargo) = self.takeover_generation(StoreHistory::Lost, generation);
        let (term, ttl, own) = (self.term, self.ttl, self.own);
        self.emit(
            out,
            event::Led { term, ttl, generation, own, embargo, proven: ProvenTime::NONE },
        );
    }
}
