//! Checks the paths that expressions read: they must exist and be known in time.

use std::collections::BTreeSet;

use super::need_index::NeedIndex;
use crate::problem::{PROBLEMS_MAX, Problem, ProblemCode, SourceFile, SuggestedFix};
use crate::spec::declaration::{MatrixForm, PipelineDecl, SpannedPath, StepDecl};
use crate::spec::limits::SUGGESTIONS_MAX;
use crate::spec::names::nearest_name;

/// The location of an expression, which decides which values it can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExprPlace {
    /// A value of a matrix: only params are known.
    MatrixAxis,
    /// A setting of the plan: params and the cell are known.
    PlanSetting,
    /// An `if:` or a key: results of other steps are known too.
    IfOrKey,
    /// The work of a step: all values are known.
    StepWork,
}

/// The first names of paths.
const ROOTS: &[&str] = &["params", "matrix", "steps", "run"];
/// The fields of `run`.
const RUN_FIELDS: &[&str] = &["id", "pipeline"];

/// Checks paths step by step.
#[derive(Debug)]
pub(super) struct PathChecker<'a> {
    source: &'a SourceFile,
    pipeline: &'a PipelineDecl,
    reach: NeedIndex<'a>,
    problems: &'a mut Vec<Problem>,
    /// The current step; `None` at the top of the file.
    step: Option<usize>,
    params: BTreeSet<&'a str>,
    /// The number of searches for similar names.
    searched: usize,
}

impl<'a> PathChecker<'a> {
    pub(super) fn new(
        source: &'a SourceFile,
        pipeline: &'a PipelineDecl,
        reach: NeedIndex<'a>,
        problems: &'a mut Vec<Problem>,
    ) -> Self {
        let params = pipeline.params.iter().map(|param| &*param.name.value).collect();
        Self { source, pipeline, reach, problems, step: None, params, searched: 0 }
    }

    /// Sets the current step.
    pub(super) fn enter_step(&mut self, at: usize) {
        self.step = Some(at);
    }

    pub(super) fn check<'r>(
        &mut self,
        place: ExprPlace,
        reads: impl IntoIterator<Item = &'r SpannedPath>,
    ) {
        for read in reads {
            if self.problems.len() >= PROBLEMS_MAX {
                return;
            }
            let problem = self.problem(place, read);
            self.problems.extend(problem);
        }
    }

    fn problem(&mut self, place: ExprPlace, read: &SpannedPath) -> Option<Problem> {
        let (root, rest) = read.path.split_first()?;
        match &**root {
            "params" => self.param_problem(read, rest),
            "matrix" if place == ExprPlace::MatrixAxis => {
                Some(too_late_problem(read, "these values define the cells"))
            }
            "matrix" => self.axis_problem(read, rest),
            "steps" if place == ExprPlace::MatrixAxis || place == ExprPlace::PlanSetting => {
                let why = "this setting is decided when the plan is made, before any step has run";
                Some(too_late_problem(read, why))
            }
            "steps" => self.step_path_problem(read, rest),
            "run" if place != ExprPlace::StepWork => {
                Some(too_late_problem(read, "the plan is made before the run begins"))
            }
            "run" => run_path_problem(read, rest),
            _ => Some(self.unknown_root(read, root)),
        }
    }

    /// Returns a similar name. The number of searches per file is limited.
    fn nearest_name<'n>(
        &mut self,
        name: &str,
        names: impl Iterator<Item = &'n str>,
    ) -> Option<&'n str> {
        self.searched += 1;
        if self.searched <= SUGGESTIONS_MAX { nearest_name(name, names) } else { None }
    }

    fn param_problem(&mut self, read: &SpannedPath, rest: &[String]) -> Option<Problem> {
        let [name] = rest else { return Some(path_form_problem(read, "params.NAME")) };
        if self.params.contains(&**name) {
            return None;
        }
        let names = self.pipeline.params.iter().map(|param| &*param.name.value);
        let problem =
            path_problem(ProblemCode::UnknownParam, read, format!("there is no param `{name}`"));
        Some(match self.nearest_name(name, names) {
            Some(near) => self.with_corrected_path(problem, read, near, &format!("params.{near}")),
            None => problem
                .help(format!("declare it at the top of the file: `params: {{ {name}: … }}`")),
        })
    }

    fn axis_problem(&mut self, read: &SpannedPath, rest: &[String]) -> Option<Problem> {
        let [name] = rest else { return Some(path_form_problem(read, "matrix.AXIS")) };
        let Some(step) = self.step else {
            let title = "`matrix` has a value only inside a step with a matrix";
            return Some(
                path_problem(ProblemCode::UnknownAxis, read, title).help("move it into the step"),
            );
        };
        let Some(matrix) = &self.pipeline.steps[step].matrix else {
            let title =
                format!("the step `{}` has no matrix", self.pipeline.steps[step].name.value);
            return Some(path_problem(ProblemCode::UnknownAxis, read, title));
        };
        let axes = matrix.axes.iter().map(|axis| &axis.name);
        let added = matrix.include.iter().flat_map(|cell| cell.value.iter().map(|(name, _)| name));
        let names: Vec<&str> = axes.chain(added).map(|name| &*name.value).collect();
        if names.contains(&&**name) {
            return None;
        }
        let problem = path_problem(
            ProblemCode::UnknownAxis,
            read,
            format!("the matrix has no axis `{name}`"),
        );
        Some(match (self.nearest_name(name, names.iter().copied()), matrix.form) {
            (Some(near), _) => {
                self.with_corrected_path(problem, read, near, &format!("matrix.{near}"))
            }
            (None, MatrixForm::List) => {
                problem.help("the value of a plain list is `matrix.target`")
            }
            (None, MatrixForm::Map) => problem.help(format!("its axes are {}", names.join(", "))),
        })
    }

    fn step_path_problem(&mut self, read: &SpannedPath, rest: &[String]) -> Option<Problem> {
        let Some((name, rest)) = rest.split_first() else {
            return Some(path_form_problem(read, "steps.NAME.outputs.OUTPUT"));
        };
        let Some(here) = self.step else {
            let title = "`steps` has values only inside a step";
            return Some(
                path_problem(ProblemCode::TooLate, read, title)
                    .help("move it into the step that needs the other step"),
            );
        };
        let Some(other) = self.reach.find(name) else {
            let problem =
                path_problem(ProblemCode::UnknownStep, read, format!("there is no step `{name}`"));
            let names: Vec<&str> = self.reach.names().collect();
            return Some(match self.nearest_name(name, names.into_iter()) {
                Some(near) => {
                    let path =
                        [&["steps", near][..], &rest.iter().map(|s| &**s).collect::<Vec<_>>()]
                            .concat();
                    self.with_corrected_path(problem, read, near, &path.join("."))
                }
                None => problem,
            });
        };
        let pipeline = self.pipeline;
        let other_step = &pipeline.steps[other];
        if !self.reach.needs_transitively(here, other) {
            return Some(not_a_need(read, &pipeline.steps[here], other_step));
        }
        self.step_field_problem(read, other_step, rest)
    }

    fn step_field_problem(
        &mut self,
        read: &SpannedPath,
        step: &StepDecl,
        rest: &[String],
    ) -> Option<Problem> {
        let name = &step.name.value;
        let words: Vec<&str> = rest.iter().map(|word| &**word).collect();
        match words.as_slice() {
            ["status" | "outputs"] => None,
            ["outputs", output] if step.matrix.is_some() => {
                let title =
                    format!("`{name}` is a matrix: its outputs are a list with one entry per cell");
                Some(path_problem(ProblemCode::UnknownOutput, read, title).help(format!(
                    "pass the whole `steps.{name}.outputs`, and read `{output}` from the `outputs` of each entry"
                )))
            }
            ["outputs", output, ..] => {
                let names = || step.outputs.iter().map(|name| &*name.value);
                if step.outputs.is_empty() || names().any(|known| known == *output) {
                    return None;
                }
                let title = format!("`{name}` has no output `{output}`");
                let problem = path_problem(ProblemCode::UnknownOutput, read, title);
                Some(match self.nearest_name(output, names()) {
                    Some(near) => self.with_corrected_path(
                        problem,
                        read,
                        near,
                        &format!("steps.{name}.outputs.{near}"),
                    ),
                    None => problem.help(format!(
                        "its outputs are {}",
                        names().collect::<Vec<_>>().join(", ")
                    )),
                })
            }
            _ => Some(path_form_problem(
                read,
                &format!("steps.{name}.outputs.OUTPUT` or `steps.{name}.status"),
            )),
        }
    }

    fn unknown_root(&self, read: &SpannedPath, root: &str) -> Problem {
        let problem =
            path_problem(ProblemCode::UnknownPath, read, format!("unknown name `{root}`"));
        let is_param = self.pipeline.params.iter().any(|param| param.name.value == root);
        if is_param && read.path.len() == 1 {
            return self.with_corrected_path(
                problem,
                read,
                &format!("params.{root}"),
                &format!("params.{root}"),
            );
        }
        match root {
            "env" => problem.help("read the variable in the script, as `$NAME`"),
            "secrets" => problem.help(
                "list the secret under `secrets:` and read the variable in the script, as `$NAME`",
            ),
            "github" => {
                let name: Vec<String> = read.path.iter().map(|name| name.to_uppercase()).collect();
                problem.help(format!(
                    "GitHub sets variables: read `${}` in the script",
                    name.join("_")
                ))
            }
            "yes" | "on" | "always" => problem.help("write `true`, or leave the key out"),
            "needs" | "jobs" => {
                problem.help("outputs of other steps are `steps.NAME.outputs.OUTPUT`")
            }
            _ => match nearest_name(root, ROOTS.iter().copied()) {
                Some(near) => problem.label(format!("did you mean `{near}`?")),
                None => problem.help(
                    "a path begins with `params.`, `matrix.`, `steps.` or `run.`; quote a string",
                ),
            },
        }
    }

    /// Adds the corrected path to the problem.
    fn with_corrected_path(
        &self,
        problem: Problem,
        read: &SpannedPath,
        near: &str,
        path: &str,
    ) -> Problem {
        let written = self.source.text().get(read.span.clone());
        let exact = written.is_some_and(|text| text == read.path.join("."));
        let fix = exact.then(|| SuggestedFix::replace(self.source, &read.span, path)).flatten();
        problem.label(format!("did you mean `{near}`?")).fix(fix)
    }
}

fn path_problem(code: ProblemCode, read: &SpannedPath, title: impl Into<String>) -> Problem {
    Problem::new(code, read.span.clone(), title)
}

fn path_form_problem(read: &SpannedPath, form: &str) -> Problem {
    let title = format!("`{}` is not a valid path", read.path.join("."));
    path_problem(ProblemCode::UnknownPath, read, title).help(format!("write `{form}`"))
}

fn too_late_problem(read: &SpannedPath, why: &str) -> Problem {
    let title = format!("`{}` is not known yet", read.path.join("."));
    path_problem(ProblemCode::TooLate, read, title).help(why)
}

fn run_path_problem(read: &SpannedPath, rest: &[String]) -> Option<Problem> {
    match rest {
        [name] if RUN_FIELDS.contains(&&**name) => None,
        _ => Some(path_form_problem(read, "run.id` or `run.pipeline")),
    }
}

fn not_a_need(read: &SpannedPath, here: &StepDecl, other: &StepDecl) -> Problem {
    let (name, other) = (&here.name.value, &other.name.value);
    if name == other {
        let title = format!("`{name}` cannot read its own result");
        return path_problem(ProblemCode::NotANeed, read, title)
            .help("only steps that need it can read its outputs");
    }
    let mut needs: Vec<&str> = here.needs.iter().map(|need| &*need.step.value).collect();
    needs.push(other);
    let list =
        if needs.len() == 1 { needs[0].to_owned() } else { format!("[{}]", needs.join(", ")) };
    let title = format!("`{name}` reads `{other}` without needing it");
    path_problem(ProblemCode::NotANeed, read, title)
        .label("it may not have run yet")
        .also(here.name.span.clone(), format!("add `needs: {list}` to this step"))
}
