//! The names that expressions read: whether they exist, and whether they are known by then.

use std::collections::BTreeSet;

use super::reach::Reach;
use crate::problem::{Code, Fix, PROBLEMS_MAX, Problem, Source};
use crate::spec::limits::SUGGESTIONS_MAX;
use crate::spec::names::nearest;
use crate::spec::pipeline::{MatrixForm, Pipeline, ReadPath, Step};

/// Where an expression stands, which decides what it can know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In the values of a matrix: only params are known.
    Axis,
    /// Where the engine must know the value: params and the cell.
    Plan,
    /// In `if:` and in a key: also what became of other steps.
    If,
    /// In what a worker executes: everything.
    Work,
}

/// The first names of all paths.
const ROOTS: &[&str] = &["params", "matrix", "steps", "run"];
/// What `run.…` has.
const OF_RUN: &[&str] = &["id", "pipeline"];

/// Checks paths, step by step.
#[derive(Debug)]
pub(super) struct Paths<'a> {
    source: &'a Source,
    pipeline: &'a Pipeline,
    reach: Reach<'a>,
    problems: &'a mut Vec<Problem>,
    /// The step whose expressions are read; none at the top of the file.
    step: Option<usize>,
    params: BTreeSet<&'a str>,
    /// Misspelt names for which a near one was looked for.
    searched: usize,
}

impl<'a> Paths<'a> {
    pub(super) fn new(
        source: &'a Source,
        pipeline: &'a Pipeline,
        reach: Reach<'a>,
        problems: &'a mut Vec<Problem>,
    ) -> Self {
        let params = pipeline.params.iter().map(|param| &*param.name.value).collect();
        Self { source, pipeline, reach, problems, step: None, params, searched: 0 }
    }

    /// What follows is read in this step.
    pub(super) fn of_step(&mut self, at: usize) {
        self.step = Some(at);
    }

    pub(super) fn check<'r>(
        &mut self,
        place: Place,
        reads: impl IntoIterator<Item = &'r ReadPath>,
    ) {
        for read in reads {
            if self.problems.len() >= PROBLEMS_MAX {
                return;
            }
            let problem = self.problem(place, read);
            self.problems.extend(problem);
        }
    }

    fn problem(&mut self, place: Place, read: &ReadPath) -> Option<Problem> {
        let (root, rest) = read.path.split_first()?;
        match &**root {
            "params" => self.param(read, rest),
            "matrix" if place == Place::Axis => {
                Some(too_late(read, "the cells are made from these values"))
            }
            "matrix" => self.axis(read, rest),
            "steps" if place == Place::Axis || place == Place::Plan => Some(too_late(
                read,
                "this is decided when the plan is made, before any step has run",
            )),
            "steps" => self.of_other_step(read, rest),
            "run" if place != Place::Work => {
                Some(too_late(read, "the run begins after the plan is made"))
            }
            "run" => of_run(read, rest),
            _ => Some(self.unknown_root(read, root)),
        }
    }

    /// The name that may have been meant. It is looked for a few times in one file only.
    fn near<'n>(&mut self, name: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
        self.searched += 1;
        if self.searched <= SUGGESTIONS_MAX { nearest(name, names) } else { None }
    }

    fn param(&mut self, read: &ReadPath, rest: &[String]) -> Option<Problem> {
        let [name] = rest else { return Some(shape(read, "params.NAME")) };
        if self.params.contains(&**name) {
            return None;
        }
        let names = self.pipeline.params.iter().map(|param| &*param.name.value);
        let problem = at(Code::UnknownParam, read, format!("there is no param `{name}`"));
        Some(match self.near(name, names) {
            Some(near) => self.instead(problem, read, near, &format!("params.{near}")),
            None => problem
                .help(format!("declare it at the top of the file: `params: {{ {name}: … }}`")),
        })
    }

    fn axis(&mut self, read: &ReadPath, rest: &[String]) -> Option<Problem> {
        let [name] = rest else { return Some(shape(read, "matrix.AXIS")) };
        let Some(step) = self.step else {
            let title = "`matrix` has a value only inside a step that has one";
            return Some(at(Code::UnknownAxis, read, title).help("write it in the step"));
        };
        let Some(matrix) = &self.pipeline.steps[step].matrix else {
            let title =
                format!("the step `{}` has no matrix", self.pipeline.steps[step].name.value);
            return Some(at(Code::UnknownAxis, read, title));
        };
        let axes = matrix.axes.iter().map(|axis| &axis.name);
        let added = matrix.include.iter().flat_map(|cell| cell.value.iter().map(|(name, _)| name));
        let names: Vec<&str> = axes.chain(added).map(|name| &*name.value).collect();
        if names.contains(&&**name) {
            return None;
        }
        let problem = at(Code::UnknownAxis, read, format!("the matrix has no axis `{name}`"));
        Some(match (self.near(name, names.iter().copied()), matrix.form) {
            (Some(near), _) => self.instead(problem, read, near, &format!("matrix.{near}")),
            (None, MatrixForm::List) => {
                problem.help("the value of a plain list is `matrix.target`")
            }
            (None, MatrixForm::Map) => problem.help(format!("its axes are {}", names.join(", "))),
        })
    }

    fn of_other_step(&mut self, read: &ReadPath, rest: &[String]) -> Option<Problem> {
        let Some((name, rest)) = rest.split_first() else {
            return Some(shape(read, "steps.NAME.outputs.OUTPUT"));
        };
        let Some(here) = self.step else {
            let title = "`steps` has values only inside a step";
            return Some(
                at(Code::TooLate, read, title)
                    .help("write it in the step that needs the other one"),
            );
        };
        let Some(other) = self.reach.find(name) else {
            let problem = at(Code::UnknownStep, read, format!("there is no step `{name}`"));
            let names: Vec<&str> = self.reach.names().collect();
            return Some(match self.near(name, names.into_iter()) {
                Some(near) => {
                    let path =
                        [&["steps", near][..], &rest.iter().map(|s| &**s).collect::<Vec<_>>()]
                            .concat();
                    self.instead(problem, read, near, &path.join("."))
                }
                None => problem,
            });
        };
        let pipeline = self.pipeline;
        let other_step = &pipeline.steps[other];
        if !self.reach.needs(here, other) {
            return Some(not_a_need(read, &pipeline.steps[here], other_step));
        }
        self.part_of(read, other_step, rest)
    }

    fn part_of(&mut self, read: &ReadPath, step: &Step, rest: &[String]) -> Option<Problem> {
        let name = &step.name.value;
        let words: Vec<&str> = rest.iter().map(|word| &**word).collect();
        match words.as_slice() {
            ["status" | "outputs"] => None,
            ["outputs", output] if step.matrix.is_some() => {
                let title = format!(
                    "`{name}` is a matrix: its outputs are a list, one entry for each cell"
                );
                Some(at(Code::UnknownOutput, read, title).help(format!(
                    "hand over `steps.{name}.outputs` as a whole, and take `{output}` from each entry's `outputs`"
                )))
            }
            ["outputs", output, ..] => {
                let names = || step.outputs.iter().map(|name| &*name.value);
                if step.outputs.is_empty() || names().any(|known| known == *output) {
                    return None;
                }
                let title = format!("`{name}` has no output `{output}`");
                let problem = at(Code::UnknownOutput, read, title);
                Some(match self.near(output, names()) {
                    Some(near) => {
                        self.instead(problem, read, near, &format!("steps.{name}.outputs.{near}"))
                    }
                    None => problem.help(format!(
                        "its outputs are {}",
                        names().collect::<Vec<_>>().join(", ")
                    )),
                })
            }
            _ => {
                Some(shape(read, &format!("steps.{name}.outputs.OUTPUT` or `steps.{name}.status")))
            }
        }
    }

    fn unknown_root(&self, read: &ReadPath, root: &str) -> Problem {
        let problem = at(Code::UnknownPath, read, format!("nothing is called `{root}` here"));
        let is_param = self.pipeline.params.iter().any(|param| param.name.value == root);
        if is_param && read.path.len() == 1 {
            return self.instead(
                problem,
                read,
                &format!("params.{root}"),
                &format!("params.{root}"),
            );
        }
        match root {
            "env" => problem.help("a script reads the variable itself, as `$NAME`"),
            "secrets" => problem.help("list the secret under `secrets:` and read the variable, as `$NAME`"),
            "github" => {
                let name: Vec<String> = read.path.iter().map(|name| name.to_uppercase()).collect();
                problem.help(format!("GitHub sets variables: a script reads `${}`", name.join("_")))
            }
            "yes" | "on" | "always" => problem.help("write `true`, or leave the key out"),
            "needs" | "jobs" => problem.help("outputs of other steps are `steps.NAME.outputs.OUTPUT`"),
            _ => match nearest(root, ROOTS.iter().copied()) {
                Some(near) => problem.label(format!("did you mean `{near}`?")),
                None => problem.help("a value begins with `params.`, `matrix.`, `steps.` or `run.`; a text is quoted"),
            },
        }
    }

    /// The problem with the right path in place of the one that was read.
    fn instead(&self, problem: Problem, read: &ReadPath, near: &str, path: &str) -> Problem {
        let written = self.source.text().get(read.span.clone());
        let exact = written.is_some_and(|text| text == read.path.join("."));
        let fix = exact.then(|| Fix::replace(self.source, &read.span, path)).flatten();
        problem.label(format!("did you mean `{near}`?")).fix(fix)
    }
}

fn at(code: Code, read: &ReadPath, title: impl Into<String>) -> Problem {
    Problem::new(code, read.span.clone(), title)
}

fn shape(read: &ReadPath, form: &str) -> Problem {
    let title = format!("`{}` is no value", read.path.join("."));
    at(Code::UnknownPath, read, title).help(format!("write `{form}`"))
}

fn too_late(read: &ReadPath, why: &str) -> Problem {
    let title = format!("`{}` is not known yet", read.path.join("."));
    at(Code::TooLate, read, title).help(why)
}

fn of_run(read: &ReadPath, rest: &[String]) -> Option<Problem> {
    match rest {
        [name] if OF_RUN.contains(&&**name) => None,
        _ => Some(shape(read, "run.id` or `run.pipeline")),
    }
}

fn not_a_need(read: &ReadPath, here: &Step, other: &Step) -> Problem {
    let (name, other) = (&here.name.value, &other.name.value);
    if name == other {
        return at(Code::NotANeed, read, format!("`{name}` cannot read its own outcome"))
            .help("outputs are for the steps that need it");
    }
    let mut needs: Vec<&str> = here.needs.iter().map(|need| &*need.step.value).collect();
    needs.push(other);
    let list =
        if needs.len() == 1 { needs[0].to_owned() } else { format!("[{}]", needs.join(", ")) };
    at(Code::NotANeed, read, format!("`{name}` reads `{other}` without needing it"))
        .label("it could be read before it has run")
        .also(here.name.span.clone(), format!("add `needs: {list}` to this step"))
}
