//! The graph of needs in flat arrays, its topological order, and the critical path lengths.

use serde::{Deserialize, Serialize};

use super::builder::NeedKind;
use super::need_edge::NeedEdge;
use crate::id::StepIx;

/// The needs of a plan in both directions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PlanGraph {
    needs: EdgeLists,
    dependents: EdgeLists,
}

/// Lists of edges, one per node, concatenated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct EdgeLists {
    starts: Box<[u32]>,
    edges: Box<[NeedEdge]>,
}

impl EdgeLists {
    fn new(nodes: usize, edges: impl Iterator<Item = (u32, NeedEdge)> + Clone) -> Self {
        let mut starts = vec![0_u32; nodes + 1];
        for (from, _) in edges.clone() {
            starts[from as usize + 1] += 1;
        }
        for at in 0..nodes {
            starts[at + 1] += starts[at];
        }
        let mut next = starts.clone();
        let mut list = vec![NeedEdge::new(StepIx(0), NeedKind::Required); starts[nodes] as usize];
        for (from, edge) in edges {
            list[next[from as usize] as usize] = edge;
            next[from as usize] += 1;
        }
        Self { starts: starts.into(), edges: list.into() }
    }

    fn count(&self, node: u32) -> u32 {
        self.starts[node as usize + 1] - self.starts[node as usize]
    }

    fn of(&self, node: u32) -> &[NeedEdge] {
        let node = node as usize;
        &self.edges[self.starts[node] as usize..self.starts[node + 1] as usize]
    }
}

impl PlanGraph {
    pub(super) fn edge_count(&self) -> usize {
        self.needs.edges.len()
    }

    pub(super) fn new(nodes: usize, needs: &[(StepIx, StepIx, NeedKind)]) -> Self {
        Self {
            needs: EdgeLists::new(
                nodes,
                needs.iter().map(|(step, need, how)| (step.0, NeedEdge::new(*need, *how))),
            ),
            dependents: EdgeLists::new(
                nodes,
                needs.iter().map(|(step, need, how)| (need.0, NeedEdge::new(*step, *how))),
            ),
        }
    }

    pub(super) fn needs(&self, node: StepIx) -> &[NeedEdge] {
        self.needs.of(node.0)
    }

    pub(super) fn need_count(&self, node: StepIx) -> u32 {
        self.needs.count(node.0)
    }

    pub(super) fn dependents(&self, node: StepIx) -> &[NeedEdge] {
        self.dependents.of(node.0)
    }

    fn nodes(&self) -> u32 {
        u32::try_from(self.needs.starts.len() - 1).expect("nodes are counted in 32 bits")
    }

    /// Returns all nodes in topological order; or the nodes of a cycle, the first repeated at the end.
    pub(super) fn order(&self) -> Result<Vec<u32>, Vec<u32>> {
        let mut open: Vec<u32> = (0..self.nodes()).map(|node| self.needs.count(node)).collect();
        let mut order: Vec<u32> =
            (0..self.nodes()).filter(|node| open[*node as usize] == 0).collect();
        let mut next = 0;
        while let Some(node) = order.get(next).copied() {
            next += 1;
            for edge in self.dependents.of(node) {
                let dependent = edge.step().0;
                open[dependent as usize] -= 1;
                if open[dependent as usize] == 0 {
                    order.push(dependent);
                }
            }
        }
        if order.len() == open.len() { Ok(order) } else { Err(self.cycle(&open)) }
    }

    /// Follows unmet needs from any node until a node repeats.
    fn cycle(&self, open: &[u32]) -> Vec<u32> {
        let start =
            (0..self.nodes()).find(|node| open[*node as usize] > 0).expect("a node remains");
        let mut path = vec![start];
        let mut place: Vec<Option<usize>> = vec![None; open.len()];
        loop {
            let here = path[path.len() - 1];
            place[here as usize] = Some(path.len() - 1);
            let unmet = |edge: &&NeedEdge| open[edge.step().0 as usize] > 0;
            let next = self
                .needs
                .of(here)
                .iter()
                .find(unmet)
                .expect("a remaining node has an unmet need")
                .step()
                .0;
            path.push(next);
            if let Some(begins) = place[next as usize] {
                return path.split_off(begins);
            }
        }
    }
}

/// Returns, for each node, the number of steps on the longest path that begins with it.
pub(super) fn critical_path_lengths(
    graph: &PlanGraph,
    order: &[u32],
    is_step: impl Fn(u32) -> bool,
) -> Vec<u32> {
    let mut weights = vec![0_u32; order.len()];
    for node in order.iter().rev() {
        let behind =
            graph.dependents.of(*node).iter().map(|edge| weights[edge.step().0 as usize]).max();
        weights[*node as usize] = behind.unwrap_or(0) + u32::from(is_step(*node));
    }
    weights
}
