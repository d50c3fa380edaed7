//! The specs of a matrix: one for all cells with the same engine settings.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::matrix_cells::MatrixCells;
use super::plan_time_renderer::{ExpansionBudget, PlanTimeRenderer};
use super::settings::{require_labels, step_spec};
use crate::id::StepIx;
use crate::plan::StepSpec;
use crate::spec::{PipelineDecl, SpannedPath, StepDecl, StepSettings};

/// Creates the distinct specs of the cells of a step.
#[derive(Debug)]
pub(super) struct CellSpecs<'a> {
    pipeline: &'a PipelineDecl,
    step: &'a StepDecl,
    cells: &'a MatrixCells,
    reads: &'a [StepIx],
    /// Names of the matrix that the spec depends on.
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

    /// Returns the index of the spec of a cell in the list.
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

/// Returns all paths that the engine settings of a step read.
fn engine_reads<'a>(step: &'a StepDecl, defaults: &'a StepSettings) -> Vec<&'a SpannedPath> {
    let mut reads: Vec<&SpannedPath> = Vec::new();
    reads.extend(step.condition.iter().flat_map(|condition| &condition.reads));
    reads.extend(step.idempotency_key.iter().flat_map(|key| &key.reads));
    reads.extend(step.plan_time_reads());
    reads.extend(defaults.plan_time_reads());
    reads
}
