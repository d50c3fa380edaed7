//! Baselines: the speed of trivial loops on this machine at this moment.
//!
//! The ratio of an engine row to a baseline of the same run can be compared between machines and between noisy minutes.

use std::collections::BTreeMap;
use std::hint::black_box;

use windlass_core::plan::Plan;

use crate::plans::SplitMix64;

/// Bytes copied for the memory baseline, far more than every cache holds.
pub(crate) const COPIED: u32 = 256 << 20;

/// The number of keys in the map of the map baseline.
const KEYS: u32 = 10_000;

/// A graph for counters: the number of needs of each node, and its dependents.
#[derive(Debug)]
pub(crate) struct BaselineGraph {
    needs: Vec<u32>,
    starts: Vec<u32>,
    dependents: Vec<u32>,
}

impl BaselineGraph {
    /// The graph of a plan.
    pub(crate) fn of(plan: &Plan) -> Self {
        let mut bare = Self { needs: Vec::new(), starts: vec![0], dependents: Vec::new() };
        for node in plan.nodes() {
            bare.needs.push(count(plan.needs(node).len()));
            let dependents = plan.dependents(node).iter().map(|edge| edge.step().0);
            bare.dependents.extend(dependents);
            bare.starts.push(count(bare.dependents.len()));
        }
        bare
    }

    /// Ends every node when all its needs have ended, by decrement and push. Returns the number of ended nodes.
    pub(crate) fn drain(&self) -> u32 {
        let mut remaining = self.needs.clone();
        let nodes = 0..count(remaining.len());
        let mut ready: Vec<u32> = nodes.filter(|at| remaining[*at as usize] == 0).collect();
        let mut ended = 0;
        while let Some(node) = ready.pop() {
            ended += 1;
            let (from, to) = (self.starts[node as usize], self.starts[node as usize + 1]);
            for dependent in &self.dependents[from as usize..to as usize] {
                let left = &mut remaining[*dependent as usize];
                *left -= 1;
                if *left == 0 {
                    ready.push(*dependent);
                }
            }
        }
        ended
    }
}

/// Inserts this many random keys into a map of [`KEYS`] keys, and removes as many.
pub(crate) fn map_turnover(turns: u32) -> usize {
    let (mut map, mut chance) = (BTreeMap::new(), SplitMix64(4));
    for at in 0..turns {
        map.insert((u64::from(chance.below(1 << 31)), at), at);
        if at >= KEYS {
            map.pop_first();
        }
    }
    map.len()
}

/// Copies memory once.
pub(crate) fn copy(from: &[u8], to: &mut [u8]) {
    to.copy_from_slice(black_box(from));
    black_box(to);
}

fn count(of: usize) -> u32 {
    u32::try_from(of).expect("plans are counted in 32 bits")
}
