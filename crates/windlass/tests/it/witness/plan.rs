//! The choices of a number: the faults of a round, the step that holds the lock when they begin, and the moment.

use super::faults::RoundFault;
use super::script::STEPS;

/// The plan of a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RoundPlan {
    /// One or two faults, in this order.
    pub(super) faults: Vec<RoundFault>,
    /// The index of the step that holds the lock when they begin.
    pub(super) step: usize,
    /// The number of lines that this step has written by then.
    pub(super) lines: usize,
    /// The number of further lines before the second fault.
    pub(super) between: usize,
}

impl RoundPlan {
    /// The first numbers play each fault alone; those after them choose faults, step and moments.
    pub(super) fn of(number: u64) -> Self {
        let alone = usize::try_from(number).ok().and_then(|index| RoundFault::ALL.get(index));
        if let Some(fault) = alone {
            return Self { faults: vec![*fault], step: 0, lines: 1, between: 0 };
        }
        let mut choices = RoundRng(number);
        let mut faults = vec![choices.of(&RoundFault::ALL)];
        let fits = |it: &RoundFault| faults[0].goes_with(*it);
        let partners: Vec<RoundFault> = RoundFault::ALL.into_iter().filter(fits).collect();
        if !partners.is_empty() && choices.below(2) == 0 {
            faults.push(choices.of(&partners));
        }
        let step = if faults[0] == RoundFault::HungStart { 0 } else { choices.below(STEPS.len()) };
        Self { step, lines: 1 + choices.below(40), between: choices.below(20), faults }
    }

    /// Returns whether the lock passes on because of the faults alone, without healing.
    pub(super) fn passes_on(&self) -> bool {
        self.faults.iter().all(|fault| fault.passes_on())
    }

    /// Returns whether the controller forgets that it granted the lock.
    pub(super) fn loses_history(&self) -> bool {
        self.faults.iter().any(|fault| fault.loses_history())
    }
}

/// Numbers that follow from the number of a round (`SplitMix64`).
struct RoundRng(u64);

impl RoundRng {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        usize::try_from(mixed % limit as u64).expect("it is below a usize")
    }

    fn of(&mut self, faults: &[RoundFault]) -> RoundFault {
        faults[self.below(faults.len())]
    }
}

#[test]
fn deep_rounds_differ_and_play_each_fault_often() {
    let plans: Vec<RoundPlan> = (0..200).map(RoundPlan::of).collect();
    for fault in RoundFault::ALL {
        let count = plans.iter().filter(|plan| plan.faults.contains(&fault)).count();
        assert!(count >= 4, "{fault:?} is in {count} rounds");
    }
    let pairs = plans.iter().filter(|plan| plan.faults.len() == 2).count();
    assert!(pairs >= 40, "{pairs} rounds have two faults");
    let mut distinct: Vec<&RoundPlan> = Vec::new();
    for plan in &plans {
        if !distinct.contains(&plan) {
            distinct.push(plan);
        }
    }
    assert!(distinct.len() >= 198, "{} rounds differ", distinct.len());
}
