//! The measured plans. Random numbers come from one seeded sequence, so every run measures the same graphs.

use std::sync::Arc;

use windlass_core::id::StepIx;
use windlass_core::plan::{Plan, PlanBuilder, StepSpec};

/// Layers of the layered graph.
const LAYERS: u32 = 100;

/// The most needs of a step of the layered graph.
const NEEDS_MAX: u64 = 4;

/// The `SplitMix64` sequence.
#[derive(Debug)]
pub(crate) struct SplitMix64(pub(crate) u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 to `bound - 1`.
    pub(crate) fn below(&mut self, bound: u64) -> u32 {
        u32::try_from(self.next() % bound).expect("bounds are small")
    }
}

/// One step that all others need.
pub(crate) fn fan_out(steps: u32) -> Arc<Plan> {
    let mut plan = PlanBuilder::new("fan-out");
    let root = plan.step("root", StepSpec::default());
    for at in 1..steps {
        let leaf = plan.step(&format!("leaf{at}"), StepSpec::default());
        plan.needs(leaf, root);
    }
    frozen(plan)
}

/// Each step needs the one before.
pub(crate) fn chain(steps: u32) -> Arc<Plan> {
    let mut plan = PlanBuilder::new("chain");
    let mut last = plan.step("link0", StepSpec::default());
    for at in 1..steps {
        let link = plan.step(&format!("link{at}"), StepSpec::default());
        plan.needs(link, last);
        last = link;
    }
    frozen(plan)
}

/// Equal layers; each step needs one to four random steps of the layer above.
pub(crate) fn layered(steps: u32) -> Arc<Plan> {
    let (mut plan, mut chance) = (PlanBuilder::new("layered"), SplitMix64(1));
    let width = steps / LAYERS;
    for at in 0..width * LAYERS {
        let step = plan.step(&format!("step{at}"), StepSpec::default());
        if at < width {
            continue;
        }
        let above = (at / width - 1) * width;
        let count = 1 + chance.below(NEEDS_MAX);
        let mut needs: Vec<u32> = (0..count).map(|_| above + chance.below(width.into())).collect();
        needs.sort_unstable();
        needs.dedup();
        for need in needs {
            plan.needs(step, StepIx(need));
        }
    }
    frozen(plan)
}

/// Independent steps, each with one random lock of this many.
pub(crate) fn locks(steps: u32, locks: u32) -> Arc<Plan> {
    let (mut plan, mut chance) = (PlanBuilder::new("locks"), SplitMix64(2));
    for at in 0..steps {
        let lock = format!("lock{}", chance.below(locks.into()));
        plan.step(&format!("step{at}"), StepSpec::locking([&lock]));
    }
    frozen(plan)
}

/// Independent steps, each with two random locks of this many: hardly any two steps need the same locks.
pub(crate) fn lock_pairs(steps: u32, locks: u32) -> Arc<Plan> {
    let (mut plan, mut chance) = (PlanBuilder::new("lock-pairs"), SplitMix64(5));
    for at in 0..steps {
        let first = chance.below(locks.into());
        let second = (first + 1 + chance.below((locks - 1).into())) % locks;
        let (first, second) = (format!("lock{first}"), format!("lock{second}"));
        plan.step(&format!("step{at}"), StepSpec::locking([&first, &second]));
    }
    frozen(plan)
}

/// Independent steps, each requiring one random label of this many.
pub(crate) fn classes(steps: u32, classes: u32) -> Arc<Plan> {
    let (mut plan, mut chance) = (PlanBuilder::new("classes"), SplitMix64(3));
    for at in 0..steps {
        let label = label(chance.below(classes.into()));
        plan.step(&format!("step{at}"), StepSpec::requiring([&label]));
    }
    frozen(plan)
}

/// The label that a requirement class requires.
pub(crate) fn label(class: u32) -> String {
    format!("kind{class}")
}

fn frozen(plan: PlanBuilder) -> Arc<Plan> {
    Arc::new(plan.build().expect("the plans of the benchmark are valid"))
}
