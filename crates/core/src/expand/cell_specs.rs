//! The specs of a matrix: one for all cells that agree on what the engine must know.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::matrix_cells::MatrixCells;
use super::plan_time_renderer::{ExpansionBudget, PlanTimeRenderer};
use super::settings::{require_labels, step_spec};
use crate::id::StepIx;
use crate::plan::StepSpec;
use crate::spec::{PipelineDecl, RetryDecl, SpannedPath, SpannedSetting, StepDecl, StepSettings};

/// Makes the specs of the cells of a step, each once.
#[derive(Debug)]
pub(super) struct CellSpecs<'a> {
    pipeline: &'a PipelineDecl,
    step: &'a StepDecl,
    cells: &'a MatrixCells,
    reads: &'a [StepIx],
    /// Names of the matrix that decide on a spec.
    deciding_names: Vec<&'a str>,
    known: BTreeMap<Vec<&'a str>, usize>,
    pub(super) list: Vec<StepSpec>,
}

impl<'a> CellSpecs<'a> {
    pub(super) fn new(
        pipeline: &'a PipelineDecl,
        step: &'a StepDecl,
        cells: &'a MatrixCells,
        reads: &'a [StepIx],
    ) -> Self {
        let read = engine_reads(step, &pipeline.defaults).into_iter();
        let read = read.filter(|read| read.path[0] == "matrix").filter_map(|read| read.path.get(1));
        let decisive: BTreeSet<&str> = read.map(|name| &**name).chain(cells.routing()).collect();
        let deciding_names = decisive.into_iter().collect();
        Self {
            pipeline,
            step,
            cells,
            reads,
            deciding_names,
            known: BTreeMap::new(),
            list: Vec::new(),
        }
    }

    /// The place in the list of the spec of a cell.
    pub(super) fn spec_index(
        &mut self,
        cell: usize,
        params: &Arc<Value>,
        making: &mut ExpansionBudget,
    ) -> usize {
        let key: Vec<&str> =
            self.deciding_names.iter().map(|name| self.cells.value(cell, name)).collect();
        if let Some(at) = self.known.get(&key) {
            return *at;
        }
        let mut known = PlanTimeRenderer::new(params, making).with_cell(self.cells.scope(cell));
        let mut spec = step_spec(&mut known, self.step, &self.pipeline.defaults, self.reads);
        require_labels(&mut spec, self.cells.labels(cell));
        making.take(spec.bytes(), &self.step.name.span);
        self.list.push(spec);
        self.known.insert(key, self.list.len() - 1);
        self.list.len() - 1
    }
}

/// Everything that is read for what the engine must know of a step.
fn engine_reads<'a>(step: &'a StepDecl, defaults: &'a StepSettings) -> Vec<&'a SpannedPath> {
    let mut reads: Vec<&SpannedPath> = Vec::new();
    reads.extend(step.condition.iter().flat_map(|asked| &asked.reads));
    reads.extend(step.idempotency_key.iter().flat_map(|key| &key.reads));
    reads.extend(step.locks.iter().flat_map(|lock| &lock.name.reads));
    reads.extend(step.per_worker.iter().flat_map(SpannedSetting::reads));
    for settings in [&step.settings, defaults] {
        for setting in [
            &settings.timeout,
            &settings.kill_grace,
            &settings.wait_for_worker,
            &settings.wait_for_lock,
        ] {
            reads.extend(setting.iter().flat_map(SpannedSetting::reads));
        }
        reads.extend(settings.priority.iter().flat_map(SpannedSetting::reads));
        reads.extend(settings.retry.iter().flat_map(RetryDecl::reads));
        let clauses = settings.requires.iter().chain(&settings.prefers).flatten();
        reads.extend(clauses.flat_map(SpannedSetting::reads));
        let nodes = settings.nodes.iter().flat_map(|nodes| nodes.allow.iter().chain(&nodes.deny));
        reads.extend(nodes.flat_map(|text| &text.reads));
    }
    reads
}
