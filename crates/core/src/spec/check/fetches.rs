//! Checks `fetch`: it names steps that the step needs and that hand on files.

use std::collections::{BTreeMap, BTreeSet};

use crate::problem::{PROBLEMS_MAX, Problem, ProblemCode};
use crate::spec::declaration::{FetchDecl, PipelineDecl, StepDecl};

/// Reports every artifact that a step cannot get.
pub(super) fn check(pipeline: &PipelineDecl, problems: &mut Vec<Problem>) {
    let fetching = || pipeline.steps.iter().filter(|step| step.fetch.is_some());
    if fetching().next().is_none() {
        return;
    }
    let steps = pipeline.steps.iter().map(|step| (&*step.name.value, step)).collect();
    for step in fetching() {
        let needs: BTreeSet<&str> = step.needs.iter().map(|need| &*need.step.value).collect();
        for fetch in step.fetch.iter().flatten() {
            if problems.len() >= PROBLEMS_MAX {
                return;
            }
            let is_need = needs.contains(&*fetch.step.value);
            problems.extend(if is_need {
                without_artifacts(&steps, fetch)
            } else {
                Some(not_a_need(step, fetch))
            });
        }
    }
}

fn not_a_need(step: &StepDecl, fetch: &FetchDecl) -> Problem {
    let (step, name) = (&step.name.value, &fetch.step.value);
    let title = format!("`{step}` does not need `{name}`, so it cannot get its files");
    Problem::new(ProblemCode::NotANeed, fetch.step.span.clone(), title)
        .help(format!("add it: `needs: [{name}]`"))
}

fn without_artifacts(steps: &BTreeMap<&str, &StepDecl>, fetch: &FetchDecl) -> Option<Problem> {
    let name = &fetch.step.value;
    let maker = steps.get(&**name).filter(|maker| maker.artifacts.is_none())?;
    let title = format!("`{name}` hands on no files");
    let problem = Problem::new(ProblemCode::NoArtifacts, fetch.step.span.clone(), title)
        .help(format!("name them in `{name}`: `artifacts: [dist/**]`"));
    Some(problem.also(maker.name.span.clone(), "this step"))
}
