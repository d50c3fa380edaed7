//! Which large results a worker may fetch: those that a step reads that it holds a lease of.

use std::collections::BTreeSet;

use crate::engine::state::engine::Engine;
use crate::engine::state::run::Run;
use crate::id::{StepIx, WorkerId};
use crate::large_value::{LargeValueId, LargeValueLocation, LargeValueRef};
use crate::outcome::StepOutput;
use crate::slab::RunIx;

impl Engine {
    /// Whether a worker may fetch a large result: a step that it holds a lease of in its current life reads a node with
    /// that result. The run that stored it may be another one, whose outcome was taken over. A revoked worker may fetch
    /// nothing.
    ///
    /// A node that several leased steps read is looked at once, so the cost depends on the plans and not on the leases.
    pub fn may_fetch(&self, worker: WorkerId, result: LargeValueId) -> bool {
        let Some(holder) = self.worker_ids.get(&worker).map(|holder| &self.workers[*holder]) else {
            return false;
        };
        if self.keys.is_revoked(worker) {
            return false;
        }
        let leases = holder.leases.iter().map(|lease| &self.leases[*lease]);
        let own = leases.filter(|lease| lease.life == holder.incarnation);
        let read: BTreeSet<(RunIx, StepIx)> = own
            .flat_map(|lease| {
                let reads = self.runs[lease.run].spec(lease.step).reads.iter();
                reads.map(|node| (lease.run, *node))
            })
            .collect();
        read.iter().any(|(run, node)| self.runs[*run].exposes_value(*node, result))
    }
}

impl Run {
    /// Whether readers of a node are handed this result: its own, or that of a cell of a join.
    fn exposes_value(&self, node: StepIx, result: LargeValueId) -> bool {
        let is_it = |kept: &LargeValueRef| {
            matches!(kept.place, LargeValueLocation::Leader { .. }) && kept.name() == result
        };
        self.large_values(node).any(is_it)
    }

    /// The results of a node that are kept elsewhere: its own, and those of the cells of a join.
    pub(in crate::engine) fn large_values(
        &self,
        node: StepIx,
    ) -> impl Iterator<Item = &LargeValueRef> {
        let cells = self.plan.needs(node).iter().filter(move |_| self.plan.is_join(node));
        let nodes = std::iter::once(node).chain(cells.map(|edge| edge.step()));
        nodes.filter_map(|node| self.outputs.get(&node)).filter_map(|output| match output {
            StepOutput::Kept(kept) => Some(&**kept),
            StepOutput::None | StepOutput::Inline(_) | StepOutput::Digest { .. } => None,
        })
    }
}
