//! Expands steps, cells and needs into a plan.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::assemble_work::{RunFiles, assemble_work, params_read, steps_read};
use super::cell_specs::CellSpecs;
use super::expanded::{ExpandInputs, ExpandedPipeline, ExpandedStep};
use super::matrix_cells::MatrixCells;
use super::params::params;
use super::plan_time_renderer::{ExpansionBudget, PlanTimeRenderer};
use super::settings::{bad_rendered_name, step_spec};
use crate::display_text::is_displayable;
use crate::id::StepIx;
use crate::plan::{
    EDGES_MAX, NAME_MAX, PLAN_BYTES_MAX, PlanBuilder, PlanError, STEPS_MAX, StepSpec, WORK_MAX,
};
use crate::problem::{PROBLEMS_MAX, Problem, ProblemCode};
use crate::spec::{
    ActionDecl, PipelineDecl, StepDecl, ValueShape, parse_positive_duration, scalar_number,
};

/// Creates the plan of a pipeline, or returns all problems.
pub fn expand_pipeline(
    pipeline: &PipelineDecl,
    inputs: ExpandInputs<'_>,
) -> Result<ExpandedPipeline, Vec<Problem>> {
    let mut problems = Vec::new();
    let params = params(pipeline, inputs.params, &mut problems);
    if !problems.is_empty() {
        return Err(problems);
    }
    let value = Arc::new(Value::Object(params.clone().into_iter().collect()));
    let making = ExpansionBudget { problems, plan_bytes_left: PLAN_BYTES_MAX };
    let mut planner = PipelineExpander {
        pipeline,
        files: RunFiles::new(pipeline, inputs.workspace),
        params: value,
        budget: making,
        drafts: Vec::new(),
        index: BTreeMap::new(),
    };
    planner.draft_steps();
    let name = pipeline.name.as_ref().map_or(inputs.name, |name| &name.value);
    let mut builder = PlanBuilder::new(name);
    planner.locks(&mut builder);
    for at in 0..planner.drafts.len() {
        planner.add_step(&mut builder, at);
        if planner.budget.plan_bytes_left == 0 {
            break;
        }
    }
    planner.needs(&mut builder);
    let timeout = planner.timeout();
    if planner.budget.problems.is_empty() {
        let steps = planner.drafts.iter().map(StepDraft::expanded_step).collect();
        match builder.build() {
            Ok(plan) => return Ok(ExpandedPipeline { plan, params, timeout, steps }),
            Err(errors) => {
                planner.budget.problems.extend(errors.iter().map(|e| plan_problem(pipeline, e)));
            }
        }
    }
    let mut problems = planner.budget.problems;
    Problem::sort(&mut problems);
    problems.truncate(PROBLEMS_MAX);
    Err(problems)
}

struct PipelineExpander<'a> {
    pipeline: &'a PipelineDecl,
    files: RunFiles<'a>,
    params: Arc<Value>,
    budget: ExpansionBudget,
    drafts: Vec<StepDraft<'a>>,
    index: BTreeMap<&'a str, usize>,
}

/// A step with its cells and its position in the plan, before it is added.
struct StepDraft<'a> {
    step: &'a StepDecl,
    cells: Option<MatrixCells>,
    /// The first node.
    first: u32,
    /// The node of the step.
    node: StepIx,
    tags: Vec<String>,
}

impl PipelineExpander<'_> {
    /// Counts the cells of every step, so that all nodes are known before a step that reads them is added.
    fn draft_steps(&mut self) {
        let mut next = 0;
        for step in &self.pipeline.steps {
            let mut known = PlanTimeRenderer::new(&self.params, &mut self.budget);
            let cells =
                step.matrix.as_ref().and_then(|matrix| MatrixCells::new(&mut known, matrix));
            let count = cells.as_ref().map_or(0, MatrixCells::count);
            let count = u32::try_from(count).expect("cells are bounded");
            let tags = step.settings.tags.as_ref().or(self.pipeline.defaults.tags.as_ref());
            let tags = tags.into_iter().flatten().map(|tag| tag.value.clone()).collect();
            self.index.insert(&step.name.value, self.drafts.len());
            self.drafts.push(StepDraft {
                step,
                cells,
                first: next,
                node: StepIx(next + count),
                tags,
            });
            next += count + 1;
            if next as usize > 2 * STEPS_MAX {
                let problem = plan_problem(self.pipeline, &PlanError::TooManySteps(next as usize));
                return self.budget.problems.push(problem);
            }
        }
    }

    fn locks(&mut self, builder: &mut PlanBuilder) {
        for (name, slots) in &self.pipeline.locks {
            if !is_displayable(&name.value) {
                self.budget.problems.push(bad_rendered_name("lock", &name.value, &name.span));
            }
            let shape = ("locks", ValueShape::Number(1, 1_000_000));
            let mut known = PlanTimeRenderer::new(&self.params, &mut self.budget);
            let slots = known.setting(Some(slots), shape, |text| scalar_number(text, shape.1));
            builder.lock_slots(&name.value, slots.unwrap_or(1));
        }
    }

    fn timeout(&mut self) -> Option<crate::time::Span> {
        let mut known = PlanTimeRenderer::new(&self.params, &mut self.budget);
        let shape = ("timeout", ValueShape::PositiveDuration);
        known.setting(self.pipeline.timeout.as_ref(), shape, |text| {
            parse_positive_duration(text).ok()
        })
    }

    fn add_step(&mut self, builder: &mut PlanBuilder, at: usize) {
        let draft = &self.drafts[at];
        let mut known =
            PlanTimeRenderer::new(&self.params, &mut self.budget).with_text_bytes(WORK_MAX);
        let mut work = assemble_work(&mut known, (self.pipeline, &self.files), draft.step);
        work.axes = draft.cells.as_ref().map(|cells| cells.axes.clone()).unwrap_or_default();
        work.params = params_read(&work, &self.params);
        let read = steps_read(draft.step, &work);
        let reads: Vec<StepIx> = read.iter().filter_map(|name| self.node(name)).collect();
        if self.budget.plan_bytes_left == 0 {
            return;
        }
        let carries_files = work.carries_files();
        let work = work.to_text();
        let (name, span) = (&draft.step.name.value, &draft.step.name.span);
        match &draft.cells {
            None => {
                let mut known = PlanTimeRenderer::new(&self.params, &mut self.budget);
                let spec = step_spec(&mut known, draft.step, &self.pipeline.defaults, &reads);
                let spec = StepSpec { carries_files, ..spec };
                self.budget.take(spec.bytes() + name.len() + work.len(), span);
                builder.step_with(name, spec, &work);
            }
            Some(cells) => {
                let mut specs = CellSpecs::new(self.pipeline, draft.step, cells, &reads);
                let mut long = None;
                let mut named = Vec::with_capacity(cells.count());
                for cell in 0..cells.count() {
                    let own = cells.name(cell);
                    if self.budget.take(name.len() + own.len(), span).is_none() {
                        break;
                    }
                    if name.len() + 2 + own.len() > NAME_MAX && long.is_none() {
                        long = Some(own.clone());
                    }
                    named.push((own, specs.spec_index(cell, &self.params, &mut self.budget)));
                }
                for spec in &mut specs.list {
                    spec.carries_files = carries_files;
                }
                self.budget.problems.extend(long.map(|cell| long_name(draft.step, &cell)));
                builder.matrix_of(name, &work, specs.list, named);
            }
        }
    }

    fn node(&self, name: &str) -> Option<StepIx> {
        self.index.get(name).map(|at| self.drafts[*at].node)
    }

    /// Adds the needs within the limit of a plan. A need of a matrix counts once per cell.
    fn needs(&mut self, builder: &mut PlanBuilder) {
        let edges = self
            .drafts
            .iter()
            .map(|draft| draft.step.needs.len().saturating_mul(draft.cell_range().len()));
        let edges = edges.fold(0, usize::saturating_add);
        if edges > EDGES_MAX {
            let problem = plan_problem(self.pipeline, &PlanError::TooManyEdges(edges));
            return self.budget.problems.push(problem);
        }
        for draft in &self.drafts {
            for need in &draft.step.needs {
                let Some(other) = self.node(&need.step.value) else { continue };
                for node in draft.nodes() {
                    if need.optional {
                        builder.needs_optional(node, other);
                    } else {
                        builder.needs(node, other);
                    }
                }
            }
        }
    }
}

impl StepDraft<'_> {
    /// Returns its steps in the plan: itself, or its cells.
    fn nodes(&self) -> impl Iterator<Item = StepIx> + use<> {
        self.cell_range().map(StepIx)
    }

    const fn cell_range(&self) -> std::ops::Range<u32> {
        match self.cells {
            Some(_) => self.first..self.node.0,
            None => self.first..self.first + 1,
        }
    }

    fn expanded_step(&self) -> ExpandedStep {
        let step = self.step;
        ExpandedStep {
            name: step.name.value.clone(),
            about: step.about.clone(),
            tags: self.tags.clone(),
            needs: step.needs.iter().map(|need| need.step.value.clone()).collect(),
            node: self.node,
            cells: self.cell_range(),
            unavailable: match step.action {
                ActionDecl::Unavailable(key) => Some(key),
                ActionDecl::Script { .. }
                | ActionDecl::Exec { .. }
                | ActionDecl::Call(_)
                | ActionDecl::Noop => None,
            },
        }
    }
}

fn long_name(step: &StepDecl, cell: &str) -> Problem {
    let name = &step.name.value;
    let title = format!("the name `{name}[{cell}]` has more than {NAME_MAX} bytes");
    let span = step.matrix.as_ref().map_or(0..0, |matrix| matrix.span.clone());
    Problem::new(ProblemCode::LongName, span, title)
        .help("use short values, and look up the long ones in the step")
}

/// Converts an error of the whole plan to a problem.
fn plan_problem(pipeline: &PipelineDecl, error: &PlanError) -> Problem {
    let of_step = |name: &str| pipeline.step(name).map_or(0..0, |step| step.name.span.clone());
    let span = if let PlanError::WorkTooLong(name) | PlanError::TooMany { step: name, .. } = error {
        of_step(name)
    } else {
        pipeline.steps.first().map_or(0..0, |step| step.name.span.clone())
    };
    Problem::new(ProblemCode::PlanTooLarge, span, error.to_string())
}
