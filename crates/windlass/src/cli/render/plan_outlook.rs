//! The outlook of a run: waves, groups of equal cells, steps that would be skipped here, the longest chain.

use std::collections::BTreeMap;

use windlass_core::expand::{ExpandedPipeline, ExpandedStep};
use windlass_core::id::{SpecIx, StepIx};
use windlass_core::plan::{OwnerRelation, Plan, StepSpec, ValueCondition, WorkerFacts};
use windlass_core::requirement::{Labels, WorkerScope};

/// The local worker's name, as `nodes:` refers to it.
const LOCAL: &str = "local";

/// The outlook of a run on this machine.
#[derive(Debug)]
pub(crate) struct PlanOutlook<'a> {
    /// The plan and its details.
    pub(crate) expanded: &'a ExpandedPipeline,
    /// The selected steps: by wave, then in the order of the file.
    pub(crate) steps: Vec<StepOutlook<'a>>,
    /// The number of waves.
    pub(crate) waves: usize,
    /// The steps on the longest chain of needs.
    pub(crate) critical_path: Vec<&'a str>,
}

/// One step of the file.
#[derive(Debug)]
pub(crate) struct StepOutlook<'a> {
    /// The step.
    pub(crate) step: &'a ExpandedStep,
    /// Counted from 1: a step is in the wave after the last of its needs.
    pub(crate) wave: usize,
    /// Whether it has a matrix.
    pub(crate) matrix: bool,
    /// Its cells in groups that are equal for the engine; a step without a matrix has one group of one cell.
    pub(crate) groups: Vec<CellGroup<'a>>,
}

/// Cells that the engine treats alike.
#[derive(Debug)]
pub(crate) struct CellGroup<'a> {
    /// Their common specification.
    pub(crate) spec: &'a StepSpec,
    /// The cells.
    pub(crate) cells: Vec<StepIx>,
    /// Why they would be skipped here.
    pub(crate) skipped: Option<PredictedSkip>,
}

/// Why a step would be skipped.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PredictedSkip {
    /// Its `if` is always false: the condition, with its values.
    FalseCondition(String),
    /// This machine does not match: `lacks os=windows`.
    UnmetRequirement(String),
}

impl<'a> PlanOutlook<'a> {
    /// Computes the outlook for a machine with these labels.
    pub(crate) fn new(expanded: &'a ExpandedPipeline, labels: &Labels) -> Self {
        let (waves, before) = waves(expanded);
        let mut steps: Vec<StepOutlook<'a>> = expanded
            .steps
            .iter()
            .zip(&waves)
            .map(|(step, wave)| StepOutlook {
                step,
                wave: *wave,
                matrix: expanded.plan.is_join(step.node),
                groups: groups(&expanded.plan, step, labels),
            })
            .collect();
        steps.sort_by_key(|step| step.wave);
        let last = (0..waves.len()).max_by_key(|at| (waves[*at], std::cmp::Reverse(*at)));
        let chain = std::iter::successors(last, |at| before[*at]);
        let mut critical_path: Vec<&str> = chain.map(|at| &*expanded.steps[at].name).collect();
        critical_path.reverse();
        Self { expanded, steps, waves: waves.iter().copied().max().unwrap_or(0), critical_path }
    }

    /// The number of selected steps, with every cell counted.
    pub(crate) fn size(&self) -> usize {
        self.steps.iter().map(StepOutlook::size).sum()
    }
}

impl StepOutlook<'_> {
    /// The number of cells.
    pub(crate) fn size(&self) -> usize {
        self.groups.iter().map(|group| group.cells.len()).sum()
    }

    /// The number of cells per reason to skip them.
    pub(crate) fn skipped(&self) -> BTreeMap<&PredictedSkip, usize> {
        let mut reasons = BTreeMap::new();
        for group in &self.groups {
            if let Some(reason) = &group.skipped {
                *reasons.entry(reason).or_default() += group.cells.len();
            }
        }
        reasons
    }
}

/// The wave of each step, and the need that determines it.
fn waves(expanded: &ExpandedPipeline) -> (Vec<usize>, Vec<Option<usize>>) {
    let index: BTreeMap<&str, usize> =
        expanded.steps.iter().enumerate().map(|(at, step)| (&*step.name, at)).collect();
    let needs: Vec<Vec<usize>> = expanded
        .steps
        .iter()
        .map(|step| step.needs.iter().filter_map(|need| index.get(&**need).copied()).collect())
        .collect();
    let mut waves = vec![0; needs.len()];
    let mut before = vec![None; needs.len()];
    for at in super::topological::topological(&needs) {
        before[at] = needs[at].iter().copied().max_by_key(|need| waves[*need]);
        waves[at] = before[at].map_or(0, |need| waves[need]) + 1;
    }
    (waves, before)
}

fn groups<'a>(plan: &'a Plan, step: &ExpandedStep, labels: &Labels) -> Vec<CellGroup<'a>> {
    let mut groups: Vec<CellGroup<'a>> = Vec::new();
    let mut index: BTreeMap<SpecIx, usize> = BTreeMap::new();
    for cell in step.cells.clone().map(StepIx) {
        let (Some(spec), Some(number)) = (plan.spec(cell), plan.spec_index(cell)) else { continue };
        let at = *index.entry(number).or_insert_with(|| {
            groups.push(CellGroup { spec, cells: Vec::new(), skipped: skip(spec, labels) });
            groups.len() - 1
        });
        groups[at].cells.push(cell);
    }
    groups
}

fn skip(spec: &StepSpec, labels: &Labels) -> Option<PredictedSkip> {
    if let ValueCondition::Fails(condition) = &spec.when {
        return Some(PredictedSkip::FalseCondition(condition.to_string()));
    }
    let (scope, relation) = (WorkerScope::AllRuns, OwnerRelation::IsOwner);
    let here = WorkerFacts { labels, name: LOCAL, leads: true, scope, relation };
    spec.placement.refusal(here).map(PredictedSkip::UnmetRequirement)
}
