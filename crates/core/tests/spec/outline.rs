//! Helpers of these tests: text in, problems and plans as text out.

use std::collections::BTreeMap;
use std::fmt::Write;

use windlass_core::expand::{ExpandInputs, ExpandedPipeline, StepWork, expand_pipeline};
use windlass_core::plan::ValueCondition;
use windlass_core::problem::{
    Problem, ProblemSeverity, ProblemStyle, SourceFile, render_one_line, render_problem,
};
use windlass_core::spec::{PipelineReadOptions, read_pipeline};

/// The file of a test.
pub(crate) fn source(text: &str) -> SourceFile {
    SourceFile::new("windlass.yml", text)
}

/// Returns all problems of the file, without params.
pub(crate) fn problems(text: &str, given: &[(&str, &str)]) -> Vec<Problem> {
    match plan(text, given) {
        Ok(_) => Vec::new(),
        Err(problems) => problems,
    }
}

/// Returns the text that the user sees.
pub(crate) fn diagnosis(text: &str) -> String {
    told_with(text, &[])
}

/// Does the same with params.
pub(crate) fn told_with(text: &str, given: &[(&str, &str)]) -> String {
    let source = source(text);
    let pages = problems(text, given);
    let pages: Vec<String> =
        pages.iter().map(|p| render_problem(p, &source, ProblemStyle::Plain)).collect();
    if pages.is_empty() { "nothing is wrong".to_owned() } else { pages.join("\n") }
}

/// Returns one line per problem.
pub(crate) fn listed(text: &str) -> String {
    let source = source(text);
    let lines: Vec<String> =
        problems(text, &[]).iter().map(|p| render_one_line(p, &source)).collect();
    if lines.is_empty() { "nothing is wrong".to_owned() } else { lines.join("\n") }
}

/// Returns the plan of the file; unavailable keys are notes.
pub(crate) fn plan(text: &str, given: &[(&str, &str)]) -> Result<ExpandedPipeline, Vec<Problem>> {
    plan_with(text, given, ProblemSeverity::Error)
}

/// Does the same with another treatment of unavailable keys.
pub(crate) fn plan_with(
    text: &str,
    given: &[(&str, &str)],
    not_available: ProblemSeverity,
) -> Result<ExpandedPipeline, Vec<Problem>> {
    let (pipeline, problems) = read_pipeline(
        &source(text),
        PipelineReadOptions { unavailable_key_severity: not_available },
    );
    let Some(pipeline) = pipeline else { return Err(problems) };
    let given: BTreeMap<String, String> =
        given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    expand_pipeline(&pipeline, ExpandInputs { name: "ship", params: &given, workspace: None })
}

/// Returns the plan as text: nodes with their needs, the settings that are not defaults, and the work.
pub(crate) fn drawn(text: &str) -> String {
    drawn_with(text, &[])
}

/// Does the same with params.
pub(crate) fn drawn_with(text: &str, given: &[(&str, &str)]) -> String {
    let Ok(expanded) = plan_with(text, given, ProblemSeverity::Note) else {
        return told_with(text, given);
    };
    let plan = &expanded.plan;
    let mut page = String::new();
    for node in plan.nodes() {
        let needs: Vec<String> = plan
            .needs(node)
            .iter()
            .map(|edge| {
                let mark = if edge.is_required() { "" } else { "?" };
                format!("{}{mark}", plan.name(edge.step()))
            })
            .collect();
        let needs =
            if needs.is_empty() { String::new() } else { format!(" <- {}", needs.join(" ")) };
        let _ = writeln!(page, "{}{needs}", plan.name(node));
        let Some(spec) = plan.spec(node) else { continue };
        let requires = &spec.placement.requirement;
        if !requires.0.is_empty() {
            let _ = writeln!(page, "    requires {requires}");
        }
        for clause in &spec.placement.preferences {
            let _ = writeln!(page, "    prefers {clause}");
        }
        if spec.when != ValueCondition::Holds {
            let _ = writeln!(page, "    when {:?}", spec.when);
        }
        if let Some(idempotency) = &spec.idempotency {
            let _ = writeln!(page, "    idempotent {}", idempotency.key);
        }
        if !spec.reads.is_empty() {
            let reads: Vec<&str> = spec.reads.iter().map(|node| plan.name(*node)).collect();
            let _ = writeln!(page, "    reads {}", reads.join(" "));
        }
        let _ = writeln!(page, "    {}", plan.work(node));
        StepWork::parse(&plan.work(node)).expect("the work of a plan is readable");
    }
    page
}
