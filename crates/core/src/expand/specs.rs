//! The specs of a matrix: one for all cells that agree on what the engine must know.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::cells::Cells;
use super::render::{Known, Making};
use super::settings::{route, spec};
use crate::id::StepIx;
use crate::plan::StepSpec;
use crate::spec::{Pipeline, ReadPath, Retry, Setting, Settings, Step};

/// Makes the specs of the cells of a step, each once.
#[derive(Debug)]
pub(super) struct Specs<'a> {
    pipeline: &'a Pipeline,
    step: &'a Step,
    cells: &'a Cells,
    reads: &'a [StepIx],
    /// Names of the matrix that decide on a spec.
    decisive: Vec<&'a str>,
    known: BTreeMap<Vec<&'a str>, usize>,
    pub(super) list: Vec<StepSpec>,
}

impl<'a> Specs<'a> {
    pub(super) fn new(
        pipeline: &'a Pipeline,
        step: &'a Step,
        cells: &'a Cells,
        reads: &'a [StepIx],
    ) -> Self {
        let read = engine_reads(step, &pipeline.defaults).into_iter();
        let read = read.filter(|read| read.path[0] == "matrix").filter_map(|read| read.path.get(1));
        let decisive: BTreeSet<&str> = read.map(|name| &**name).chain(cells.routing()).collect();
        let decisive = decisive.into_iter().collect();
        Self { pipeline, step, cells, reads, decisive, known: BTreeMap::new(), list: Vec::new() }
    }

    /// The place in the list of the spec of a cell.
    pub(super) fn of(&mut self, cell: usize, params: &Arc<Value>, making: &mut Making) -> usize {
        let key: Vec<&str> =
            self.decisive.iter().map(|name| self.cells.value(cell, name)).collect();
        if let Some(at) = self.known.get(&key) {
            return *at;
        }
        let mut known = Known::new(params, making).with_cell(self.cells.scope(cell));
        let mut spec = spec(&mut known, self.step, &self.pipeline.defaults, self.reads);
        route(&mut spec, self.cells.labels(cell));
        making.take(spec.bytes(), &self.step.name.span);
        self.list.push(spec);
        self.known.insert(key, self.list.len() - 1);
        self.list.len() - 1
    }
}

/// Everything that is read for what the engine must know of a step.
fn engine_reads<'a>(step: &'a Step, defaults: &'a Settings) -> Vec<&'a ReadPath> {
    let mut reads: Vec<&ReadPath> = Vec::new();
    reads.extend(step.condition.iter().flat_map(|asked| &asked.reads));
    reads.extend(step.once.iter().flat_map(|key| &key.reads));
    reads.extend(step.locks.iter().flat_map(|lock| &lock.name.reads));
    reads.extend(step.per_worker.iter().flat_map(Setting::reads));
    for settings in [&step.settings, defaults] {
        for setting in [
            &settings.timeout,
            &settings.kill_grace,
            &settings.wait_for_worker,
            &settings.wait_for_lock,
        ] {
            reads.extend(setting.iter().flat_map(Setting::reads));
        }
        reads.extend(settings.priority.iter().flat_map(Setting::reads));
        reads.extend(settings.retry.iter().flat_map(Retry::reads));
        let clauses = settings.requires.iter().chain(&settings.prefers).flatten();
        reads.extend(clauses.flat_map(Setting::reads));
        let nodes = settings.nodes.iter().flat_map(|nodes| nodes.allow.iter().chain(&nodes.deny));
        reads.extend(nodes.flat_map(|text| &text.reads));
    }
    reads
}
