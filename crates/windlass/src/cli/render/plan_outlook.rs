//! What a run would do: waves, groups of cells that are alike, what would be skipped here, the longest chain.

use std::collections::BTreeMap;

use windlass_core::expand::{ExpandedPipeline, ExpandedStep};
use windlass_core::id::StepIx;
use windlass_core::plan::{Plan, StepSpec, ValueCondition, WorkerFacts};
use windlass_core::requirement::Labels;

/// The local worker's name, as `nodes:` would have it.
const LOCAL: &str = "local";

/// What a run would do on this machine.
#[derive(Debug)]
pub(crate) struct PlanOutlook<'a> {
    /// The plan and what stands beside it.
    pub(crate) expanded: &'a ExpandedPipeline,
    /// The steps that take part: by wave, then as in the file.
    pub(crate) steps: Vec<StepOutlook<'a>>,
    /// How many waves there are.
    pub(crate) waves: usize,
    /// Names of the steps on the longest chain of needs.
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
    /// Its cells that are alike for the engine; one group of one for a step without a matrix.
    pub(crate) groups: Vec<CellGroup<'a>>,
}

/// Cells that the engine treats alike.
#[derive(Debug)]
pub(crate) struct CellGroup<'a> {
    /// What the engine knows of them.
    pub(crate) spec: &'a StepSpec,
    /// Which they are.
    pub(crate) cells: Vec<StepIx>,
    /// Why they would be skipped here.
    pub(crate) skipped: Option<PredictedSkip>,
}

/// Why a step would be skipped.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PredictedSkip {
    /// Its `if` is false whatever happens: the question, with its values.
    FalseCondition(String),
    /// This machine does not do: `lacks os=windows`.
    UnmetRequirement(String),
}

impl<'a> PlanOutlook<'a> {
    /// Looks ahead, for a machine with these labels.
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

    /// How many steps of the plan take part: cells count one by one.
    pub(crate) fn size(&self) -> usize {
        self.steps.iter().map(StepOutlook::size).sum()
    }
}

impl StepOutlook<'_> {
    /// How many steps of the plan it is.
    pub(crate) fn size(&self) -> usize {
        self.groups.iter().map(|group| group.cells.len()).sum()
    }

    /// Why how many of its cells would be skipped.
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

/// The wave of each step, and the need that it is in that wave for.
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
    let mut index: BTreeMap<u32, usize> = BTreeMap::new();
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
    if let ValueCondition::Fails(asked) = &spec.when {
        return Some(PredictedSkip::FalseCondition(asked.to_string()));
    }
    let here = WorkerFacts { labels, name: LOCAL, leads: true };
    spec.placement.refusal(here).map(PredictedSkip::UnmetRequirement)
}
