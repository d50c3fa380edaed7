//! A model of clients and sweeps in random order: no run names an object that is absent. Three mistakes show that the
//! model would find one.

use std::collections::{BTreeMap, BTreeSet};

use super::sweep::{GRACE_MIN, SweepRule};
use crate::time::{Span, Time};

const OBJECTS: u64 = 4;
const CLIENTS: usize = 3;
const SCHEDULES: u64 = 2_000;

/// A mistake that the design invites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    None,
    /// A sweep removes an unused object whenever it was touched.
    NoGrace,
    /// Reporting an object as present does not touch it.
    QuestionDoesNotTouch,
    /// A removal does not compare the time of the last touch again.
    NoSecondLook,
    /// A sweep collects the live objects before it begins.
    MarkBeforeBegin,
}

/// A client stores an object and then names it.
#[derive(Clone, Copy, Debug)]
enum ModelClient {
    Idle,
    /// The object is in the store, as far as the client knows, since this moment.
    Holds(u64, Time),
}

#[derive(Debug)]
struct ModelSweep {
    rule: SweepRule,
    live: BTreeSet<u64>,
    condemned: Vec<u64>,
}

#[derive(Debug)]
struct SweepModel {
    mistake: Mistake,
    now: Time,
    chance: u64,
    /// The objects of the store, with the last touch.
    stored: BTreeMap<u64, Time>,
    named: BTreeSet<u64>,
    clients: [ModelClient; CLIENTS],
    sweep: Option<ModelSweep>,
    early_mark: BTreeSet<u64>,
}

impl SweepModel {
    fn new(mistake: Mistake, seed: u64) -> Self {
        Self {
            mistake,
            now: Time::ZERO + Span::hours(1),
            chance: seed,
            stored: BTreeMap::new(),
            named: BTreeSet::new(),
            clients: [ModelClient::Idle; CLIENTS],
            sweep: None,
            early_mark: BTreeSet::new(),
        }
    }

    /// A number below `end`, by `SplitMix64`.
    fn below(&mut self, end: u64) -> u64 {
        self.chance = self.chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.chance ^ (self.chance >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    /// Performs one random step. Returns the objects that are named and absent.
    fn step(&mut self) -> Vec<u64> {
        match self.below(8) {
            0 => self.now = self.now + Span::mins(1).times(self.below(12)),
            1..=3 => self.client_step(),
            4 => {
                let object = self.below(OBJECTS);
                self.named.remove(&object);
            }
            _ => self.sweep_step(),
        }
        self.named.iter().copied().filter(|object| !self.stored.contains_key(object)).collect()
    }

    /// A client asks for an object and stores it if it is missing, or names the object that it holds.
    fn client_step(&mut self) {
        let at = usize::try_from(self.below(CLIENTS as u64)).expect("below the number of clients");
        self.clients[at] = match self.clients[at] {
            ModelClient::Idle => {
                let object = self.below(OBJECTS);
                let keeps = self.mistake == Mistake::QuestionDoesNotTouch;
                if !(keeps && self.stored.contains_key(&object)) {
                    self.stored.insert(object, self.now);
                }
                ModelClient::Holds(object, self.now)
            }
            ModelClient::Holds(object, since) => {
                // After the grace period the client would ask again.
                if self.now.since(since) < GRACE_MIN {
                    self.named.insert(object);
                }
                ModelClient::Idle
            }
        };
    }

    /// A sweep begins, collects the live objects, lists the objects to remove, and removes them one at a time.
    fn sweep_step(&mut self) {
        let Some(mut sweep) = self.sweep.take() else {
            let early = std::mem::replace(&mut self.early_mark, self.named.clone());
            let is_early = self.mistake == Mistake::MarkBeforeBegin;
            let live = if is_early { early } else { self.named.clone() };
            let rule = SweepRule::new(self.now, GRACE_MIN);
            let is_removed = |touched: Time, live: bool| {
                rule.removes(live, touched) || self.mistake == Mistake::NoGrace && !live
            };
            let stored = self.stored.iter();
            let condemned = stored.filter(|(id, at)| is_removed(**at, live.contains(id)));
            let condemned = condemned.map(|(id, _)| *id).collect();
            self.sweep = Some(ModelSweep { rule, live, condemned });
            return;
        };
        let Some(object) = sweep.condemned.pop() else { return };
        let touched = self.stored.get(&object).copied();
        let looks = !matches!(self.mistake, Mistake::NoSecondLook | Mistake::NoGrace);
        let still = |at| !looks || sweep.rule.removes(sweep.live.contains(&object), at);
        if touched.is_some_and(still) {
            self.stored.remove(&object);
        }
        self.sweep = Some(sweep);
    }
}

/// Returns the first schedule in which a run names an absent object.
fn violation(mistake: Mistake) -> Option<u64> {
    (0..SCHEDULES).find(|seed| {
        let mut model = SweepModel::new(mistake, *seed);
        (0..400).any(|_| !model.step().is_empty())
    })
}

#[test]
fn no_named_object_is_removed_in_any_schedule() {
    assert_eq!(violation(Mistake::None), None);
}

#[test]
fn model_finds_each_planted_mistake() {
    let planted = [
        Mistake::NoGrace,
        Mistake::QuestionDoesNotTouch,
        Mistake::NoSecondLook,
        Mistake::MarkBeforeBegin,
    ];
    for mistake in planted {
        assert!(violation(mistake).is_some(), "{mistake:?} is not found");
    }
}
