//! Checks needs: every need names another step, without cycles.

use super::need_index::NeedIndex;
use crate::problem::{PROBLEMS_MAX, Problem, ProblemCode, SourceFile, SuggestedFix};
use crate::spec::declaration::{NeedRef, PipelineDecl};
use crate::spec::limits::SUGGESTIONS_MAX;
use crate::spec::names::nearest_name;

/// Maximum cycles reported.
const CYCLES_MAX: usize = 10;

/// Reports every invalid need.
pub(super) fn check(
    source: &SourceFile,
    pipeline: &PipelineDecl,
    reach: &NeedIndex<'_>,
    problems: &mut Vec<Problem>,
) {
    let mut searched = 0;
    for step in &pipeline.steps {
        for need in &step.needs {
            if problems.len() >= PROBLEMS_MAX {
                return;
            }
            if need.step.value == step.name.value {
                problems.push(self_need(need));
            } else if reach.find(&need.step.value).is_none() {
                searched += 1;
                problems.push(unknown_need(source, need, reach, searched <= SUGGESTIONS_MAX));
            }
        }
    }
    let cycles = reach.cycles(CYCLES_MAX);
    problems.extend(cycles.iter().map(|cycle| cycle_problem(pipeline, cycle)));
}

fn self_need(need: &NeedRef) -> Problem {
    let title = format!("`{}` needs itself", need.step.value);
    Problem::new(ProblemCode::SelfNeed, need.step.span.clone(), title)
        .help("a step begins when its needs have ended: remove this need")
}

fn unknown_need(
    source: &SourceFile,
    need: &NeedRef,
    reach: &NeedIndex<'_>,
    search: bool,
) -> Problem {
    let (name, span) = (&need.step.value, &need.step.span);
    let problem =
        Problem::new(ProblemCode::UnknownNeed, span.clone(), format!("there is no step `{name}`"));
    let near = search.then(|| nearest_name(name, reach.names())).flatten();
    if let Some(near) = near {
        let fix = SuggestedFix::replace(source, span, near);
        return problem.label(format!("did you mean `{near}`?")).fix(fix);
    }
    let names: Vec<&str> = reach.names().take(12).collect();
    problem.help(format!("the steps are {}", names.join(", ")))
}

fn cycle_problem(pipeline: &PipelineDecl, cycle: &[usize]) -> Problem {
    let name = |at: &usize| &*pipeline.steps[*at].name.value;
    let path: Vec<&str> = cycle.iter().map(name).collect();
    let need_of = |pair: &[usize]| {
        let needs = &pipeline.steps[pair[0]].needs;
        needs
            .iter()
            .find(|need| need.step.value == name(&pair[1]))
            .map(|need| need.step.span.clone())
    };
    let mut places = cycle.windows(2).map(|pair| {
        (
            need_of(pair).unwrap_or_default(),
            format!("`{}` needs `{}`", name(&pair[0]), name(&pair[1])),
        )
    });
    let (span, label) = places.next().expect("a cycle has at least two entries");
    let title = format!("`needs` form a cycle: {}", path.join(" → "));
    let problem = Problem::new(ProblemCode::Cycle, span, title)
        .label(label)
        .help("remove one of these needs");
    places.fold(problem, |problem, (span, what)| problem.also(span, what))
}
