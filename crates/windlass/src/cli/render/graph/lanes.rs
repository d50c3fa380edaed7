//! The columns of a layered drawing, and the order within each.
//!
//! A need that spans several columns gets a *bend* in each column between, so that the order leaves space for its line.

use super::PipelineGraph;
use crate::cli::render::topological::ranks;

/// The most bends per step and need; beyond that, long needs are straight lines. It keeps the drawing of a large
/// graph linear.
const BENDS: usize = 8;
/// Rounds of ordering; more hardly change a drawing.
const SWEEPS: usize = 12;

/// A slot of a column: a step, or a bend of a line.
#[derive(Clone, Debug)]
pub(super) struct LaneSlot {
    /// The step; `None` for a bend.
    pub(super) node: Option<usize>,
    pub(super) column: usize,
    /// Connected slots of the previous column.
    pub(super) before: Vec<usize>,
    /// Connected slots of the next column.
    pub(super) behind: Vec<usize>,
}

/// Columns with their ordered slots, and the path of each need through them.
#[derive(Debug)]
pub(super) struct GraphLanes {
    pub(super) slots: Vec<LaneSlot>,
    /// Slots of each column, from top to bottom.
    pub(super) columns: Vec<Vec<usize>>,
    /// For each need: the slots of its line, starting at the needed step, and whether it is optional.
    pub(super) lines: Vec<(Vec<usize>, bool)>,
}

impl GraphLanes {
    pub(super) fn new(graph: &PipelineGraph) -> Self {
        let ranks = ranks(&graph.needs());
        let slot = |node: usize| LaneSlot {
            node: Some(node),
            column: ranks[node],
            before: Vec::new(),
            behind: Vec::new(),
        };
        let mut lanes = Self {
            slots: (0..graph.nodes.len()).map(slot).collect(),
            columns: Vec::new(),
            lines: Vec::new(),
        };
        lanes.draw_lines(graph, &ranks);
        let count = ranks.iter().max().map_or(0, |rank| rank + 1);
        lanes.columns = vec![Vec::new(); count];
        for (at, slot) in lanes.slots.iter().enumerate() {
            lanes.columns[slot.column].push(at);
        }
        lanes.order();
        lanes
    }

    fn draw_lines(&mut self, graph: &PipelineGraph, ranks: &[usize]) {
        let needs: usize = graph.nodes.iter().map(|node| node.needs.len()).sum();
        let mut bends = BENDS * (graph.nodes.len() + needs);
        for (to, node) in graph.nodes.iter().enumerate() {
            for need in &node.needs {
                let between = ranks[need.node] + 1..ranks[to];
                let mut line = vec![need.node];
                if between.len() <= bends {
                    bends -= between.len();
                    line.extend(between.map(|column| self.bend(column)));
                    line.push(to);
                    for pair in line.windows(2) {
                        self.slots[pair[0]].behind.push(pair[1]);
                        self.slots[pair[1]].before.push(pair[0]);
                    }
                } else {
                    line.push(to);
                }
                self.lines.push((line, need.optional));
            }
        }
    }

    fn bend(&mut self, column: usize) -> usize {
        self.slots.push(LaneSlot { node: None, column, before: Vec::new(), behind: Vec::new() });
        self.slots.len() - 1
    }

    /// Sweeps in both directions: each slot moves to the mean of its neighbors. The best order is kept.
    fn order(&mut self) {
        let mut best = (self.crossings(), self.columns.clone());
        for sweep in 0..SWEEPS {
            let forth = sweep % 2 == 0;
            let count = self.columns.len();
            let mut places = self.places();
            for at in 0..count {
                self.sort(if forth { at } else { count - 1 - at }, forth, &mut places);
            }
            let crossings = self.crossings();
            if crossings < best.0 {
                best = (crossings, self.columns.clone());
            }
        }
        self.columns = best.1;
    }

    fn sort(&mut self, column: usize, forth: bool, places: &mut [usize]) {
        let mean = |at: usize, own: usize| {
            let slot = &self.slots[at];
            let around = if forth { &slot.before } else { &slot.behind };
            let sum: usize = around.iter().map(|other| places[*other]).sum();
            // In thousandths; a slot without neighbors stays.
            if around.is_empty() { own * 1000 } else { sum * 1000 / around.len() }
        };
        let mut keyed: Vec<(usize, usize)> = self.columns[column]
            .iter()
            .enumerate()
            .map(|(own, at)| (mean(*at, own), *at))
            .collect();
        keyed.sort_by_key(|(mean, _)| *mean);
        self.columns[column] = keyed.into_iter().map(|(_, at)| at).collect();
        for (place, at) in self.columns[column].iter().enumerate() {
            places[*at] = place;
        }
    }

    /// The position of each slot in its column.
    fn places(&self) -> Vec<usize> {
        let mut places = vec![0; self.slots.len()];
        for column in &self.columns {
            for (place, slot) in column.iter().enumerate() {
                places[*slot] = place;
            }
        }
        places
    }

    /// The number of line crossings between neighboring columns.
    fn crossings(&self) -> usize {
        let places = self.places();
        self.columns.iter().map(|column| crossings(column, &self.slots, &places)).sum()
    }
}

/// Pairs of lines out of this column whose ends are in the opposite order of their starts: inversions, counted in a
/// tree of partial sums.
fn crossings(column: &[usize], slots: &[LaneSlot], places: &[usize]) -> usize {
    let mut ends: Vec<usize> = Vec::new();
    for slot in column {
        let mut behind: Vec<usize> = slots[*slot].behind.iter().map(|at| places[*at]).collect();
        behind.sort_unstable();
        ends.extend(behind);
    }
    let size = ends.iter().max().map_or(0, |end| end + 1);
    let mut sums = vec![0_usize; size + 1];
    let mut crossed = 0;
    for (seen, end) in ends.into_iter().enumerate() {
        let mut at = end + 1;
        let mut not_after = 0;
        while at > 0 {
            not_after += sums[at];
            at &= at - 1;
        }
        crossed += seen - not_after;
        let mut at = end + 1;
        while at <= size {
            sums[at] += 1;
            at += at & at.wrapping_neg();
        }
    }
    crossed
}
