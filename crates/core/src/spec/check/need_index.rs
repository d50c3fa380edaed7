//! The order of steps by their needs.

use std::collections::BTreeMap;

use crate::spec::declaration::PipelineDecl;

/// The needs of a pipeline by index. Needs that name no step are left out.
#[derive(Debug)]
pub(super) struct NeedIndex<'a> {
    index: BTreeMap<&'a str, usize>,
    needs: Vec<Vec<usize>>,
    /// Cache: for a step, the steps that need it directly or indirectly.
    dependents: BTreeMap<usize, Vec<bool>>,
    /// Remaining budget of needs to visit for this cache.
    visits_left: usize,
}

/// Maximum needs visited to find indirect needs: some tenths of a second. A file beyond that gets a "not a need" problem.
const VISITS_MAX: usize = 20_000_000;

/// Maximum steps in the cache: most files read only a few steps indirectly.
const DEPENDENTS_CACHED_MAX: usize = 64;

impl<'a> NeedIndex<'a> {
    pub(super) fn new(pipeline: &'a PipelineDecl) -> Self {
        let names = pipeline.steps.iter().map(|step| &*step.name.value);
        let index: BTreeMap<&str, usize> = names.enumerate().map(|(at, name)| (name, at)).collect();
        let known = |name: &str| index.get(name).copied();
        let needs = pipeline
            .steps
            .iter()
            .map(|step| step.needs.iter().filter_map(|need| known(&need.step.value)).collect());
        let mut needs: Vec<Vec<usize>> = needs.collect();
        for list in &mut needs {
            list.sort_unstable();
        }
        Self { needs, index, dependents: BTreeMap::new(), visits_left: VISITS_MAX }
    }

    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.index.get(name).copied()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.index.keys().copied()
    }

    /// Whether `step` needs `other`, directly or indirectly.
    pub(super) fn needs_transitively(&mut self, step: usize, other: usize) -> bool {
        if self.needs[step].binary_search(&other).is_ok() {
            return true;
        }
        if !self.dependents.contains_key(&other) {
            let edges: usize = self.needs.iter().map(Vec::len).sum();
            let Some(left) = self.visits_left.checked_sub(edges + self.needs.len()) else {
                return false;
            };
            self.visits_left = left;
        }
        if self.dependents.len() >= DEPENDENTS_CACHED_MAX {
            self.dependents.clear();
        }
        let needs = &self.needs;
        self.dependents.entry(other).or_insert_with(|| dependents(needs, other))[step]
    }

    /// Returns at most `max` disjoint cycles; each begins and ends with the same step. Finding one visits all needs.
    pub(super) fn cycles(&self, max: usize) -> Vec<Vec<usize>> {
        let mut gone = vec![false; self.needs.len()];
        let mut cycles = Vec::new();
        while cycles.len() < max {
            self.remove_ordered(&mut gone);
            let Some(start) = gone.iter().position(|gone| !gone) else { return cycles };
            let cycle = self.cycle(start, &gone);
            for at in &cycle {
                gone[*at] = true;
            }
            cycles.push(cycle);
        }
        cycles
    }

    /// Marks every step as gone whose needs are all gone.
    fn remove_ordered(&self, gone: &mut [bool]) {
        let mut open = vec![0_usize; gone.len()];
        let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); gone.len()];
        for at in (0..gone.len()).filter(|at| !gone[*at]) {
            for need in self.needs[at].iter().filter(|need| !gone[**need] && **need != at) {
                open[at] += 1;
                dependents[*need].push(at);
            }
        }
        let mut free: Vec<usize> =
            (0..gone.len()).filter(|at| !gone[*at] && open[*at] == 0).collect();
        while let Some(at) = free.pop() {
            gone[at] = true;
            for dependent in &dependents[at] {
                open[*dependent] -= 1;
                if open[*dependent] == 0 {
                    free.push(*dependent);
                }
            }
        }
    }

    fn cycle(&self, start: usize, gone: &[bool]) -> Vec<usize> {
        let mut path = vec![start];
        let mut place: Vec<Option<usize>> = vec![None; gone.len()];
        loop {
            let here = path[path.len() - 1];
            place[here] = Some(path.len() - 1);
            let next = self.needs[here].iter().find(|need| !gone[**need] && **need != here);
            let next = *next.expect("a remaining step needs another one");
            path.push(next);
            if let Some(begins) = place[next] {
                return path.split_off(begins);
            }
        }
    }
}

/// Returns every step that needs `other`, directly or indirectly.
fn dependents(needs: &[Vec<usize>], other: usize) -> Vec<bool> {
    let mut back: Vec<Vec<usize>> = vec![Vec::new(); needs.len()];
    for (step, list) in needs.iter().enumerate() {
        for need in list {
            back[*need].push(step);
        }
    }
    let mut found = vec![false; needs.len()];
    let mut open = vec![other];
    while let Some(at) = open.pop() {
        for dependent in &back[at] {
            if !std::mem::replace(&mut found[*dependent], true) {
                open.push(*dependent);
            }
        }
    }
    found
}
