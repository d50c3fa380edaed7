//! A short notation for plans: needs are given by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_core::id::StepIx;
use windlass_core::plan::{Plan, PlanBuilder, StepSpec};

/// Draws a plan.
pub(crate) struct PlanSketch {
    builder: PlanBuilder,
    nodes: BTreeMap<String, StepIx>,
}

impl PlanSketch {
    /// Draws the plan of the pipeline called `pipeline` and freezes it.
    pub(crate) fn draw(pipeline: &str, draw: impl FnOnce(&mut Self)) -> Arc<Plan> {
        let mut sketch = Self { builder: PlanBuilder::new(pipeline), nodes: BTreeMap::new() };
        draw(&mut sketch);
        Arc::new(sketch.builder.build().expect("the plan of a story is sound"))
    }

    /// A step and its needs.
    pub(crate) fn step<const N: usize>(&mut self, name: &str, spec: StepSpec, needs: [&str; N]) {
        let step = self.builder.step(name, spec);
        self.nodes.insert(name.to_owned(), step);
        for need in needs {
            let need = self.nodes[need];
            self.builder.needs(step, need);
        }
    }

    /// An ordinary step and its needs.
    pub(crate) fn plain<const N: usize>(&mut self, name: &str, needs: [&str; N]) {
        self.step(name, StepSpec::default(), needs);
    }

    /// A number of ordinary steps without needs.
    pub(crate) fn plains<const N: usize>(&mut self, names: [&str; N]) {
        for name in names {
            self.plain(name, []);
        }
    }

    /// A matrix of one cell per name.
    pub(crate) fn matrix<const N: usize>(
        &mut self,
        name: &str,
        cells: [&str; N],
        spec: impl Fn(&str) -> StepSpec,
    ) {
        let cells = cells.iter().map(|cell| ((*cell).to_owned(), spec(cell)));
        let join = self.builder.matrix(name, cells);
        self.nodes.insert(name.to_owned(), join);
    }

    /// Steps in a chain, each of which needs the one before: `name0` is the first.
    pub(crate) fn chain(&mut self, name: &str, length: u32) {
        let mut last = None;
        for at in 0..length {
            let step = self.builder.step(&format!("{name}{at}"), StepSpec::default());
            if let Some(last) = last {
                self.builder.needs(step, last);
            }
            last = Some(step);
        }
    }

    /// The slots of a lock.
    pub(crate) fn lock_slots(&mut self, name: &str, slots: u32) {
        self.builder.lock_slots(name, slots);
    }
}
