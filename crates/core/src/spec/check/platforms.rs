//! Checks the axes `os` and `arch`: a cell whose value is not a platform would match no worker.

use std::ops::Range;

use crate::problem::{Problem, ProblemCode, SourceFile, SuggestedFix};
use crate::requirement::unknown_platform;
use crate::spec::declaration::{PipelineDecl, SpannedTemplate};

/// Reports every literal value that names no platform. Rendered values are checked when they are known.
pub(super) fn check(source: &SourceFile, pipeline: &PipelineDecl, problems: &mut Vec<Problem>) {
    for matrix in pipeline.steps.iter().filter_map(|step| step.matrix.as_ref()) {
        for axis in &matrix.axes {
            for text in &axis.values {
                problems.extend(literal_platform_problem(source, &axis.name.value, text));
            }
        }
        for (name, text) in matrix.include.iter().flat_map(|cell| &cell.value) {
            problems.extend(literal_platform_problem(source, &name.value, text));
        }
    }
}

fn literal_platform_problem(
    source: &SourceFile,
    axis: &str,
    text: &SpannedTemplate,
) -> Option<Problem> {
    let problem = platform_problem(axis, text.template.is_literal()?, &text.span)?;
    let meant = unknown_platform(axis, text.template.is_literal()?)?.meant;
    let fix = meant.and_then(|meant| SuggestedFix::replace(source, &text.span, meant));
    Some(problem.fix(fix))
}

/// Returns a problem if the axis is `os` or `arch` and the value names no platform.
pub(crate) fn platform_problem(axis: &str, value: &str, span: &Range<usize>) -> Option<Problem> {
    let unknown = unknown_platform(axis, value)?;
    let title = format!("no worker has the {} `{value}`", unknown.what);
    let problem = Problem::new(ProblemCode::BadRequirement, span.clone(), title);
    Some(match unknown.meant {
        Some(meant) => problem.label(format!("did you mean `{meant}`?")),
        None => problem.help(format!("the known names are {}", unknown.known.join(", "))),
    })
}
