//! Checks `fetch`: it names steps that the step needs and that hand on files.

use crate::problem::{PROBLEMS_MAX, Problem, ProblemCode};
use crate::spec::declaration::{FetchDecl, PipelineDecl, StepDecl};

/// Reports every artifact that a step cannot get.
pub(super) fn check(pipeline: &PipelineDecl, problems: &mut Vec<Problem>) {
    for step in &pipeline.steps {
        for fetch in step.fetch.iter().flatten() {
            if problems.len() >= PROBLEMS_MAX {
                return;
            }
            problems.extend(problem(pipeline, step, fetch));
        }
    }
}

fn problem(pipeline: &PipelineDecl, step: &StepDecl, fetch: &FetchDecl) -> Option<Problem> {
    let (name, span) = (&fetch.step.value, fetch.step.span.clone());
    if !step.needs.iter().any(|need| need.step.value == *name) {
        let title =
            format!("`{}` does not need `{name}`, so it cannot get its files", step.name.value);
        let help = format!("add it: `needs: [{name}]`");
        return Some(Problem::new(ProblemCode::NotANeed, span, title).help(help));
    }
    let other = pipeline.step(name)?;
    if other.artifacts.is_some() {
        return None;
    }
    let title = format!("`{name}` hands on no files");
    let problem = Problem::new(ProblemCode::NoArtifacts, span, title);
    let problem = problem.help(format!("name them in `{name}`: `artifacts: [dist/**]`"));
    Some(problem.also(other.name.span.clone(), "this step"))
}
