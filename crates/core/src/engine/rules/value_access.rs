//! Decides which large results a worker may fetch: those that the steps of its leases read.

use std::collections::BTreeSet;

use crate::engine::state::engine::Engine;
use crate::engine::state::run::Run;
use crate::id::{StepIx, WorkerId};
use crate::large_value::{LargeValueId, LargeValueLocation, LargeValueRef};
use crate::outcome::StepValue;
use crate::slab::RunIx;

impl Engine {
    /// Returns whether a worker may fetch a large result. A step that its current incarnation holds a lease on must
    /// read a node with that result. Another run may have stored the result, if its outcome was reused. A revoked
    /// worker may fetch nothing.
    ///
    /// A node that several leased steps read is visited once, so the cost depends on the plans and not on the leases.
    pub fn may_fetch(&self, worker: WorkerId, result: LargeValueId) -> bool {
        let Some(holder) = self.worker_ids.get(&worker).map(|holder| &self.workers[*holder]) else {
            return false;
        };
        if self.keys.is_revoked(worker) {
            return false;
        }
        let leases = holder.leases.iter().map(|lease| &self.leases[*lease]);
        let own = leases.filter(|lease| lease.incarnation == holder.incarnation);
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
    /// Returns whether readers of a node get this result: it belongs to the node, or to a cell of a join.
    fn exposes_value(&self, node: StepIx, result: LargeValueId) -> bool {
        let is_it = |kept: &LargeValueRef| {
            matches!(kept.location, LargeValueLocation::Leader { .. }) && kept.name() == result
        };
        self.large_values(node).any(is_it)
    }

    /// Returns the results of a node that are stored outside the journal: its own, and those of the cells of a join.
    pub(in crate::engine) fn large_values(
        &self,
        node: StepIx,
    ) -> impl Iterator<Item = &LargeValueRef> {
        let cells = self.plan.needs(node).iter().filter(move |_| self.plan.is_join(node));
        let nodes = std::iter::once(node).chain(cells.map(|edge| edge.step()));
        nodes.filter_map(|node| self.outputs.get(&node)).filter_map(|output| match &output.value {
            StepValue::Kept(kept) => Some(&**kept),
            StepValue::None | StepValue::Inline(_) => None,
        })
    }
}
