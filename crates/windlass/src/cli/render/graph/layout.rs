//! Coordinates: x by column, y such that lines are straight.

use super::GraphNode;
use super::lanes::GraphLanes;

/// Between two columns: space for curves.
const COLUMN_GAP: f64 = 56.0;
/// Between two steps of a column.
const ROW_GAP: f64 = 20.0;
/// Between two lines that pass a column.
const LINE_GAP: f64 = 12.0;
/// Rounds of straightening.
const ROUNDS: usize = 16;
/// Around the drawing.
const MARGIN: f64 = 16.0;

/// A position and a size; for a bend, the position of its line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SlotPosition {
    pub(super) left: f64,
    /// The vertical center.
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// The boxes of all slots, and the size of the drawing.
#[derive(Debug)]
pub(super) struct GraphLayout {
    pub(super) spots: Vec<SlotPosition>,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// Measures a step's box.
pub(super) type NodeMeasure = fn(&GraphNode) -> (f64, f64);

impl GraphLayout {
    pub(super) fn new(lanes: &GraphLanes, nodes: &[GraphNode], measure: NodeMeasure) -> Self {
        let size = |slot: &super::lanes::LaneSlot| {
            slot.node.map_or((0.0, 0.0), |node| measure(&nodes[node]))
        };
        let spots = lanes.slots.iter().map(|slot| {
            let (width, height) = size(slot);
            SlotPosition { width, height, ..SlotPosition::default() }
        });
        let mut layout = Self { spots: spots.collect(), width: 0.0, height: 0.0 };
        layout.columns(lanes);
        layout.rows(lanes);
        layout
    }

    /// Every column, and every step in it, is as wide as its widest step, so that edges align.
    fn columns(&mut self, lanes: &GraphLanes) {
        let mut left = MARGIN;
        for column in &lanes.columns {
            let width = column.iter().map(|at| self.spots[*at].width).fold(0.0, f64::max);
            for at in column {
                self.spots[*at].left = left;
                self.spots[*at].width = width;
            }
            left += width + COLUMN_GAP;
        }
        self.width = left - COLUMN_GAP + MARGIN;
    }

    fn rows(&mut self, lanes: &GraphLanes) {
        for column in &lanes.columns {
            let wanted = vec![0.0; column.len()];
            self.place(lanes, column, &wanted);
        }
        for round in 0..ROUNDS {
            let forth = round % 2 == 0;
            let count = lanes.columns.len();
            for at in 0..count {
                let column = &lanes.columns[if forth { at } else { count - 1 - at }];
                let wanted: Vec<f64> =
                    column.iter().map(|slot| self.wanted(lanes, *slot, forth)).collect();
                self.place(lanes, column, &wanted);
            }
        }
        for column in &lanes.columns {
            self.gather(lanes, column);
        }
        let edge = |spot: &SlotPosition, side: f64| spot.y + side * spot.height / 2.0;
        let top = self.spots.iter().map(|spot| edge(spot, -1.0)).fold(f64::INFINITY, f64::min);
        let top = if top.is_finite() { top } else { 0.0 };
        for spot in &mut self.spots {
            spot.y += MARGIN - top;
        }
        self.height = self.spots.iter().map(|spot| edge(spot, 1.0)).fold(0.0, f64::max) + MARGIN;
    }

    /// A step without lines has no preferred position: it moves next to its neighbor in the column.
    fn gather(&mut self, lanes: &GraphLanes, column: &[usize]) {
        let alone = |at: usize| {
            let slot = &lanes.slots[at];
            slot.before.is_empty() && slot.behind.is_empty()
        };
        for pair in column.windows(2).filter(|pair| alone(pair[1])) {
            self.spots[pair[1]].y = self.spots[pair[0]].y + self.distance(lanes, pair[0], pair[1]);
        }
        let first = column.iter().take_while(|at| alone(**at)).count();
        for pair in column[..column.len().min(first + 1)].windows(2).rev() {
            self.spots[pair[0]].y = self.spots[pair[1]].y - self.distance(lanes, pair[0], pair[1]);
        }
    }

    /// The mean of the neighbors: on the side that was placed before, or on both in the last rounds.
    fn wanted(&self, lanes: &GraphLanes, at: usize, forth: bool) -> f64 {
        let slot = &lanes.slots[at];
        let (first, second) =
            if forth { (&slot.before, &slot.behind) } else { (&slot.behind, &slot.before) };
        let around = if first.is_empty() { second } else { first };
        let around: Vec<f64> = around.iter().map(|other| self.spots[*other].y).collect();
        if around.is_empty() {
            return self.spots[at].y;
        }
        #[expect(clippy::cast_precision_loss, reason = "a step has far fewer needs")]
        let count = around.len() as f64;
        around.iter().sum::<f64>() / count
    }

    /// Places slots as near as possible to their preferred positions, in order and without overlap: slots that touch
    /// form a block, which moves to the mean of its members' preferences. One pass.
    fn place(&mut self, lanes: &GraphLanes, column: &[usize], wanted: &[f64]) {
        let mut offsets = Vec::with_capacity(column.len());
        let mut offset = 0.0;
        for (place, at) in column.iter().enumerate() {
            if place > 0 {
                offset += self.distance(lanes, column[place - 1], *at);
            }
            offsets.push(offset);
        }
        // Blocks as (sum of preferences, members); a preference is given for the block's first member.
        let mut blocks: Vec<(f64, usize)> = Vec::new();
        for (wanted, offset) in wanted.iter().zip(&offsets) {
            let mut block = (wanted - offset, 1);
            while let Some(last) = blocks.last()
                && mean(*last) > mean(block)
            {
                block = (block.0 + last.0, block.1 + last.1);
                blocks.pop();
            }
            blocks.push(block);
        }
        let mut members = column.iter().zip(&offsets);
        for block in blocks {
            for (at, offset) in members.by_ref().take(block.1) {
                self.spots[*at].y = mean(block) + offset;
            }
        }
    }

    /// The distance between the centers of two slots, one below the other.
    fn distance(&self, lanes: &GraphLanes, upper: usize, lower: usize) -> f64 {
        let bend = |at: usize| lanes.slots[at].node.is_none();
        let gap = if bend(upper) && bend(lower) { LINE_GAP } else { ROW_GAP };
        f64::midpoint(self.spots[upper].height, self.spots[lower].height) + gap
    }
}

#[expect(clippy::cast_precision_loss, reason = "a column has far fewer members")]
fn mean((sum, members): (f64, usize)) -> f64 {
    sum / members as f64
}
