//! Notes about a matrix that selects machines, possibly by accident, for commands that inspect a file.

use windlass_core::spec::{MatrixDecl, MatrixForm, PipelineDecl};

use super::number_text::{count, listed};
use super::plan_outlook::{PlanOutlook, PredictedSkip, StepOutlook};

/// The most names in one line.
const NAMED_MAX: usize = 4;

/// One line for each kind of matrix that selects machines without `route:`, with the cells that this machine cannot
/// run.
pub(crate) fn routing_notes(pipeline: &PipelineDecl, outlook: &PlanOutlook<'_>) -> Vec<String> {
    let of = |kind: fn(&MatrixDecl) -> bool| -> Vec<&StepOutlook<'_>> {
        let matrix = |name: &str| pipeline.step(name).and_then(|step| step.matrix.as_ref());
        let chosen = outlook.steps.iter().filter(|step| matrix(&step.step.name).is_some_and(kind));
        chosen.collect()
    };
    let axes = of(|matrix| matrix.platform_axes().next().is_some());
    let lists = of(|matrix| matrix.form == MatrixForm::List);
    let said = [
        (axes, "axes named `os` and `arch` select the machine, here in", ""),
        (
            lists,
            "a matrix that is a list requires machines with these labels, here in",
            "; to use values that are no labels, name the axis: `matrix: { db: [a, b] }`",
        ),
    ];
    let line = |(steps, what, instead): &(Vec<&StepOutlook<'_>>, &str, &str)| {
        let names: Vec<String> = steps.iter().map(|step| step.step.name.clone()).collect();
        let instead = if steps.iter().all(|step| step.skipped().is_empty()) { "" } else { instead };
        format!("{what} {}; {}{instead}", some_of(names), here(outlook, steps))
    };
    said.iter().filter(|(steps, ..)| !steps.is_empty()).map(line).collect()
}

/// Every step and cell that this machine cannot run.
pub(crate) fn refused_here<'a>(outlook: &'a PlanOutlook<'_>) -> Vec<&'a str> {
    outlook.steps.iter().flat_map(|step| refused(outlook, step)).collect()
}

fn here(outlook: &PlanOutlook<'_>, steps: &[&StepOutlook<'_>]) -> String {
    let size: usize = steps.iter().map(|step| step.size()).sum();
    let refused = steps.iter().flat_map(|step| refused(outlook, step));
    let refused: Vec<String> = refused.map(str::to_owned).collect();
    match refused.len() {
        0 => "this machine can run them all".to_owned(),
        some => {
            let cells = count(size, "cell", "cells");
            format!("this machine cannot run {some} of {cells}: {}", some_of(refused))
        }
    }
}

fn refused<'a>(
    outlook: &'a PlanOutlook<'_>,
    step: &'a StepOutlook<'_>,
) -> impl Iterator<Item = &'a str> {
    let groups = step.groups.iter();
    let groups =
        groups.filter(|group| matches!(group.skipped, Some(PredictedSkip::UnmetRequirement(_))));
    groups.flat_map(|group| &group.cells).map(|cell| outlook.expanded.plan.name(*cell))
}

/// The first of many names.
fn some_of(mut names: Vec<String>) -> String {
    if names.len() > NAMED_MAX {
        let more = names.len() - NAMED_MAX + 1;
        names.truncate(NAMED_MAX - 1);
        names.push(format!("{more} more"));
    }
    listed(&names)
}
