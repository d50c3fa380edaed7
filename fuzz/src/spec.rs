//! The properties of the pipeline file, from bytes to plan.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use windlass_core::expand::{ExpandInputs, StepWork, expand_pipeline};
use windlass_core::problem::{
    Problem, ProblemSeverity, ProblemStyle, SourceFile, render_one_line, render_problem,
};
use windlass_core::spec::{PipelineDecl, PipelineReadOptions, read_pipeline};

use crate::check::{FuzzFinding, FuzzOutcome, promise};

/// The maximum number of corrected lines to try per file.
const FIXES_MAX: usize = 4;

/// Problems that a corrected line must not cause. Other problems may have been hidden by the first one.
const SLIPS: [&str; 9] = ["E003", "E005", "E021", "E022", "E023", "E024", "E025", "E026", "E027"];

/// Checks a file.
pub(crate) fn check(bytes: &[u8]) -> FuzzOutcome {
    let source = match SourceFile::from_bytes("windlass.yml", bytes) {
        Ok(source) => source,
        Err(rejected) => {
            problem_sound(&rejected.source, &rejected.problem)?;
            return Ok(format!("rejected {}", rejected.problem.code));
        }
    };
    let (pipeline, problems) = read_pipeline(&source, PipelineReadOptions::default());
    problems.iter().try_for_each(|problem| problem_sound(&source, problem))?;
    let wrong = errors(&problems);
    promise(pipeline.is_some() == (wrong == 0), "a pipeline with errors, or neither", || {
        format!("{problems:?}")
    })?;
    fixes(&source, &problems)?;
    let mut shape = codes(&problems);
    let looked_at = PipelineReadOptions { unavailable_key_severity: ProblemSeverity::Note };
    let (pipeline, notes) = read_pipeline(&source, looked_at);
    notes.iter().try_for_each(|problem| problem_sound(&source, problem))?;
    if let Some(pipeline) = pipeline {
        shape += &expanded(&source, &pipeline)?;
    }
    Ok(shape)
}

/// The kinds of problems, and roughly how many.
fn codes(problems: &[Problem]) -> String {
    let codes: BTreeSet<String> = problems.iter().map(|p| p.code.to_string()).collect();
    let codes: Vec<String> = codes.into_iter().collect();
    format!("{} {}", codes.join(","), problems.len().min(5))
}

fn errors(problems: &[Problem]) -> usize {
    problems.iter().filter(|problem| problem.severity == ProblemSeverity::Error).count()
}

/// A problem has a position in the text and a message, and can be rendered.
fn problem_sound(source: &SourceFile, problem: &Problem) -> Result<(), FuzzFinding> {
    let text = source.text();
    let code = problem.code;
    let inside = |span: &Range<usize>| text.get(span.clone()).is_some();
    let seen = || format!("{problem:?}");
    promise(inside(&problem.span), format!("{code}: outside of the text"), seen)?;
    let also = problem.also.iter().all(|(span, _)| inside(span));
    promise(also, format!("{code}: another place is outside of the text"), seen)?;
    let fix = problem.fix.as_ref();
    let there = fix.is_none_or(|fix| inside(&fix.span));
    promise(there, format!("{code}: a corrected line outside of the text"), seen)?;
    promise(!problem.title.is_empty(), format!("{code}: without a word"), seen)?;
    let drawn =
        [render_problem(problem, source, ProblemStyle::Plain), render_one_line(problem, source)]
            .concat();
    let raw = drawn.chars().any(|c| c.is_control() && c != '\n');
    promise(!raw, format!("{code}: a control character is drawn"), || format!("{drawn:?}"))?;
    let coloured = render_problem(problem, source, ProblemStyle::Colour);
    let title = render_one_line(problem, source);
    promise(!coloured.is_empty() && !title.contains('\n'), "a title of two lines", seen)
}

/// A corrected line removes its problem and has none itself.
fn fixes(source: &SourceFile, problems: &[Problem]) -> Result<(), FuzzFinding> {
    let with_fix = problems.iter().filter(|problem| problem.severity == ProblemSeverity::Error);
    let with_fix = with_fix.filter_map(|problem| Some((problem, problem.fix.as_ref()?)));
    for (problem, fix) in with_fix.take(FIXES_MAX) {
        let (text, code) = (source.text(), problem.code);
        let mended = [&text[..fix.span.start], &fix.text, &text[fix.span.end..]].concat();
        let seen = |after: &[Problem]| {
            let after: Vec<String> =
                after.iter().map(|p| format!("{}: {}", p.code, p.title)).collect();
            format!(
                "{}\n-> {:?}\n-> {after:?}",
                render_problem(problem, source, ProblemStyle::Plain),
                fix.text
            )
        };
        promise(
            mended != text,
            format!("{code}: a corrected line that is the same"),
            || seen(&[]),
        )?;
        let (_, after) = read_pipeline(
            &SourceFile::new("windlass.yml", &*mended),
            PipelineReadOptions::default(),
        );
        let still = after.iter().any(|other| {
            (other.code, other.span.start, &other.title)
                == (code, problem.span.start, &problem.title)
        });
        promise(!still, format!("{code}: a corrected line that mends nothing"), || seen(&after))?;
        let line = fix.span.start..fix.span.start + fix.text.len();
        let known: BTreeSet<String> = problems.iter().map(|p| p.code.to_string()).collect();
        let worse = |other: &&Problem| {
            let code = other.code.to_string();
            SLIPS.contains(&&*code) && !known.contains(&code) && line.contains(&other.span.start)
        };
        if let Some(worse) = after.iter().find(worse) {
            let key = format!("{code}: worse when mended: {}", worse.code);
            return Err(FuzzFinding { key, detail: seen(&after) });
        }
    }
    Ok(())
}

/// A pipeline expands to a plan or to problems, with params and without.
fn expanded(source: &SourceFile, pipeline: &PipelineDecl) -> FuzzOutcome {
    let mut shape = String::new();
    let given = |value: &str| -> BTreeMap<String, String> {
        pipeline.params.iter().map(|p| (p.name.value.clone(), value.to_owned())).collect()
    };
    for params in [BTreeMap::new(), given("1"), given("\"; é$(id)\n'")] {
        match expand_pipeline(pipeline, ExpandInputs { name: "fuzz", params: &params, workspace: None }) {
            Ok(expanded) => {
                let plan = &expanded.plan;
                for step in plan.nodes().filter(|node| !plan.is_join(*node)).take(20) {
                    work_sound(&plan.work(step))?;
                }
                let steps = (plan.step_count().min(64) + 1).ilog2();
                shape.push_str(&[" ok", &steps.to_string()].concat());
            }
            Err(problems) => {
                promise(errors(&problems) > 0, "no plan, and no reason", || {
                    format!("{problems:?}")
                })?;
                problems.iter().try_for_each(|problem| problem_sound(source, problem))?;
                shape.push_str(&[" ", &codes(&problems)].concat());
            }
        }
        if pipeline.params.is_empty() {
            break;
        }
    }
    Ok(shape)
}

/// A worker receives the work as it was written.
fn work_sound(text: &str) -> Result<(), FuzzFinding> {
    let same = StepWork::parse(text).is_ok_and(|work| work.to_text() == text);
    promise(same, "work that cannot be read again", || text.to_owned())
}
