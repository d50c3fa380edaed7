//! The frozen plan.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::check::{PlanError, excess_lists};
use super::fingerprint::PlanFingerprint;
use super::graph::PlanGraph;
use super::limits::{DEMANDS_MAX, EDGES_MAX, LOCK_USES_MAX, PLAN_BYTES_MAX, STEPS_MAX};
use super::need_edge::NeedEdge;
use super::step_spec::{Placement, StepSpec};
use crate::id::{SpecIx, StepIx};

/// The spec index of a join node, which has no spec.
pub(super) const JOIN: u32 = u32::MAX;

/// Bytes of a node without its name: indices of its spec, work and edges, and its weight.
pub(super) const NODE_BYTES: usize = 24;

/// Bytes of a need: one edge in each direction.
pub(super) const NEED_BYTES: usize = 8;

/// All names of a plan in one allocation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct NameTable {
    text: Box<str>,
    ends: Box<[u32]>,
}

impl NameTable {
    pub(super) fn new(names: &[Box<str>]) -> Self {
        let text: String = names.iter().map(|name| &**name).collect();
        let mut end = 0;
        let ends = names.iter().map(|name| {
            end += u32::try_from(name.len()).expect("names are short");
            end
        });
        Self { ends: ends.collect(), text: text.into() }
    }

    fn get(&self, at: usize) -> &str {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.text[start as usize..self.ends[at] as usize]
    }
}

/// A validated, expanded, frozen graph of steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    pub(super) pipeline: Box<str>,
    pub(super) steps: u32,
    pub(super) names: NameTable,
    pub(super) spec_of: Box<[u32]>,
    pub(super) work_of: Box<[u32]>,
    pub(super) specs: Box<[StepSpec]>,
    pub(super) works: Box<[Arc<str>]>,
    pub(super) graph: PlanGraph,
    pub(super) weights: Box<[u32]>,
    pub(super) lock_slots: BTreeMap<Box<str>, u32>,
    pub(super) fingerprint: PlanFingerprint,
}

impl Plan {
    /// The name of the pipeline.
    pub fn pipeline(&self) -> &str {
        &self.pipeline
    }

    /// The number of steps, without joins.
    pub const fn step_count(&self) -> u32 {
        self.steps
    }

    /// The number of nodes: steps and joins.
    pub fn node_count(&self) -> u32 {
        u32::try_from(self.spec_of.len()).expect("nodes are counted in 32 bits")
    }

    /// Returns all nodes in the order of addition.
    pub fn nodes(&self) -> impl Iterator<Item = StepIx> + use<> {
        (0..self.node_count()).map(StepIx)
    }

    /// Returns the name of a node: `build`, `test[linux]`, or the matrix's `test` for a join.
    pub fn name(&self, node: StepIx) -> &str {
        self.names.get(node.0 as usize)
    }

    /// Returns the name in the file: its own, or that of the matrix for a cell.
    pub fn definition(&self, node: StepIx) -> &str {
        let name = self.name(node);
        name.split_once('[').map_or(name, |(matrix, _)| matrix)
    }

    /// Returns the node with this name.
    pub fn find(&self, name: &str) -> Option<StepIx> {
        self.nodes().find(|node| self.name(*node) == name)
    }

    /// Whether the node exists and is not a join.
    pub fn has_step(&self, step: StepIx) -> bool {
        step.0 < self.node_count() && !self.is_join(step)
    }

    /// Whether the node joins the cells of a matrix; a join is never dispatched.
    pub fn is_join(&self, node: StepIx) -> bool {
        self.spec_of[node.0 as usize] == JOIN
    }

    /// Returns the spec of the step; `None` for a join.
    pub fn spec(&self, step: StepIx) -> Option<&StepSpec> {
        self.specs.get(self.spec_of[step.0 as usize] as usize)
    }

    /// Returns the index of the spec in [`specs`](Self::specs); `None` for a join. Cells of a matrix often share one.
    pub fn spec_index(&self, step: StepIx) -> Option<SpecIx> {
        let at = self.spec_of[step.0 as usize];
        (at != JOIN).then_some(SpecIx(at))
    }

    /// Returns the spec with this index.
    pub(crate) fn spec_at(&self, spec: SpecIx) -> &StepSpec {
        &self.specs[spec.0 as usize]
    }

    /// Returns all distinct specs.
    pub fn specs(&self) -> &[StepSpec] {
        &self.specs
    }

    /// Returns the work for the executor.
    pub fn work(&self, step: StepIx) -> Arc<str> {
        self.works.get(self.work_of[step.0 as usize] as usize).map_or_else(|| "".into(), Arc::clone)
    }

    /// Returns all distinct works.
    pub fn works(&self) -> &[Arc<str>] {
        &self.works
    }

    /// Returns the needs of the node.
    pub fn needs(&self, node: StepIx) -> &[NeedEdge] {
        self.graph.needs(node)
    }

    /// Returns the number of needs of the node.
    pub fn need_count(&self, node: StepIx) -> u32 {
        self.graph.need_count(node)
    }

    /// Returns the nodes that need the node.
    pub fn dependents(&self, node: StepIx) -> &[NeedEdge] {
        self.graph.dependents(node)
    }

    /// Returns the number of steps on the longest path that begins with the node.
    pub fn critical_path_length(&self, node: StepIx) -> u32 {
        self.weights[node.0 as usize]
    }

    /// Returns the slots of a lock (default: 1).
    pub fn lock_slots(&self, lock: &str) -> u32 {
        self.lock_slots.get(lock).copied().unwrap_or(1)
    }

    /// Returns its size in memory in bytes.
    pub fn bytes(&self) -> usize {
        let works: usize = self.works.iter().map(|work| work.len()).sum();
        let specs: usize = self.specs.iter().map(StepSpec::bytes).sum();
        let nodes = self.spec_of.len() * NODE_BYTES + self.graph.edge_count() * NEED_BYTES;
        self.names.text.len() + nodes + works + specs
    }

    /// Returns an upper bound of its size in a journal: a number of four bytes is encoded in at most five.
    pub fn encoded_max(&self) -> usize {
        const LENGTHS: usize = 256;
        let slots = self.lock_slots.keys().map(|name| name.len() + size_of::<u64>() * 2);
        let bytes = self.bytes() + self.pipeline.len() + slots.sum::<usize>();
        bytes + bytes / 4 + LENGTHS
    }

    /// Returns the number of lock uses of all specs.
    pub fn lock_uses(&self) -> usize {
        self.specs.iter().map(|spec| spec.locks.len()).sum()
    }

    /// Returns the distinct placements of its steps.
    pub fn placements(&self) -> BTreeSet<&Placement> {
        self.specs.iter().map(|spec| &spec.placement).collect()
    }

    /// Returns the exceeded limit of a plan that was not built by [`PlanBuilder`](super::PlanBuilder) of this version.
    pub fn exceeded_limit(&self) -> Option<PlanError> {
        let (steps, edges) = (self.steps as usize, self.graph.edge_count());
        let (locks, bytes) = (self.lock_uses(), self.bytes());
        let demands = self.placements().into_iter().map(Placement::demand_count).sum();
        let wide = self.specs.iter().find_map(|spec| excess_lists(spec).next());
        match wide {
            _ if steps > STEPS_MAX => Some(PlanError::TooManySteps(steps)),
            _ if edges > EDGES_MAX => Some(PlanError::TooManyEdges(edges)),
            _ if locks > LOCK_USES_MAX => Some(PlanError::TooManyLocks(locks)),
            _ if demands > DEMANDS_MAX => Some(PlanError::TooManyDemands(demands)),
            _ if bytes > PLAN_BYTES_MAX => Some(PlanError::TooLarge(bytes)),
            Some((what, count, max)) => {
                let step = self.pipeline.to_string();
                Some(PlanError::TooMany { step, what: what.into(), count, max })
            }
            None => None,
        }
    }

    /// Sets whether idempotent steps run even if a success is recorded. The fingerprint does not change: this is a mode of
    /// the run, and a resumed run keeps its mode.
    #[must_use]
    pub fn with_idempotency_ignored(mut self, again: bool) -> Self {
        for idempotency in self.specs.iter_mut().filter_map(|spec| spec.idempotency.as_mut()) {
            idempotency.again = again;
        }
        self
    }

    /// Returns the hash of the plan. Equal plans, and only those, have equal fingerprints in all versions of windlass.
    pub const fn fingerprint(&self) -> PlanFingerprint {
        self.fingerprint
    }
}
