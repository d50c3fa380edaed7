//! Checks calls of compiled-in steps: the step must exist and receive its inputs.

use crate::problem::{Problem, ProblemCode, ProblemSeverity, SourceFile, SuggestedFix};
use crate::spec::callable::{
    CallableCatalog, CallableNeed, CallableNeedForm, CallableSet, CallableStep,
};
use crate::spec::declaration::{ActionDecl, CallDecl, PipelineDecl, StepDecl};
use crate::spec::names::nearest_name;

/// Reports every invalid call. An unknown step has the severity of a key that cannot be executed.
pub(in crate::spec) fn calls(
    source: &SourceFile,
    pipeline: &PipelineDecl,
    (calls, absent): (&CallableSet, ProblemSeverity),
    problems: &mut Vec<Problem>,
) {
    let CallableSet::Known(known) = calls else { return };
    for step in &pipeline.steps {
        let ActionDecl::Call(call) = &step.action else { continue };
        match known.0.get(&call.target.value.name) {
            Some(callable) => {
                let check = CallCheck { pipeline, known, step, call, callable };
                check.all(problems);
            }
            None => problems.push(unknown_call(source, known, call).severity(absent)),
        }
    }
}

fn unknown_call(source: &SourceFile, known: &CallableCatalog, call: &CallDecl) -> Problem {
    let (name, span) = (&call.target.value.name, &call.target.span);
    let problem = Problem::new(
        ProblemCode::UnknownCall,
        span.clone(),
        format!("there is no built-in step `{name}`"),
    );
    let names = || known.0.keys().map(String::as_str).chain(["noop"]);
    let near = nearest_name(name, names());
    let fix = near.and_then(|near| SuggestedFix::replace(source, span, near));
    if known.0.is_empty() {
        let fix = fix.filter(|_| name.eq_ignore_ascii_case("noop"));
        return problem
            .help("the only built-in step is `noop`; write a command as `run:`")
            .fix(fix);
    }
    match near {
        Some(near) => problem.label(format!("did you mean `{near}`?")).fix(fix),
        None => problem.help(format!(
            "this program has the steps {}; write a command as `run:`",
            names().collect::<Vec<_>>().join(", ")
        )),
    }
}

/// A call of a known step.
struct CallCheck<'a> {
    pipeline: &'a PipelineDecl,
    known: &'a CallableCatalog,
    step: &'a StepDecl,
    call: &'a CallDecl,
    callable: &'a CallableStep,
}

impl CallCheck<'_> {
    fn all(&self, problems: &mut Vec<Problem>) {
        problems.extend(self.signature());
        problems.extend(self.callable.needs.iter().filter_map(|need| self.need(need)));
        problems.extend(self.values());
    }

    fn signature(&self) -> Option<Problem> {
        let target = &self.call.target;
        let wanted = target.value.signature.as_deref()?;
        let here = &self.callable.signature;
        (wanted != here).then(|| {
            let name = &target.value.name;
            let title =
                format!("the file calls `{name}@{wanted}`, but this program has `{name}@{here}`");
            Problem::new(ProblemCode::UnknownCall, target.span.clone(), title)
                .help("the types of the step have changed: use the program that wrote the file")
        })
    }

    fn need(&self, need: &CallableNeed) -> Option<Problem> {
        let name = &need.step;
        if self.call.with.iter().any(|value| value.name.value == *name) {
            return None;
        }
        let at = |code: ProblemCode, title: String| {
            Problem::new(code, self.call.target.span.clone(), title)
        };
        let (step, called) = (&self.step.name.value, &self.call.target.value.name);
        let Some(written) = self.step.needs.iter().find(|it| it.step.value == *name) else {
            let title = format!(
                "`{called}` takes the result of `{name}`, but `{step}` does not need `{name}`"
            );
            let help = format!(
                "add `{name}` to its `needs:`, or pass the value: `with: {{ {name}: \"${{{{ steps.OTHER.outputs }}}}\" }}`"
            );
            return Some(at(ProblemCode::NotANeed, title).help(help));
        };
        let giver = self.pipeline.step(name)?;
        let title = self.need_mismatch(need, giver)?;
        Some(at(ProblemCode::WrongType, title).also(written.step.span.clone(), "this need"))
    }

    /// Why a step cannot provide the needed result.
    fn need_mismatch(&self, need: &CallableNeed, giver: &StepDecl) -> Option<String> {
        let (called, name) = (&self.call.target.value.name, &need.step);
        match (need.form, giver.matrix.is_some()) {
            (CallableNeedForm::One, true) => {
                return Some(format!(
                    "`{called}` takes one result of `{name}`, but `{name}` is a matrix"
                ));
            }
            (CallableNeedForm::Cells, false) => {
                return Some(format!(
                    "`{called}` takes the results of all cells of `{name}`, but `{name}` is not a matrix"
                ));
            }
            (CallableNeedForm::One, false) | (CallableNeedForm::Cells, true) => {}
        }
        if let ActionDecl::Call(call) = &giver.action {
            let result = &self.known.0.get(&call.target.value.name)?.output;
            let fits = *result == need.takes;
            return (!fits).then(|| {
                format!(
                    "`{called}` takes {} from `{name}`, but `{name}` returns {result}",
                    need.takes
                )
            });
        }
        let declares = |wanted: &&String| giver.outputs.iter().any(|name| name.value == **wanted);
        let missing = need.names.iter().find(|wanted| !declares(wanted))?;
        Some(format!(
            "`{called}` takes the output `{missing}` of `{name}`, but `{name}` does not declare it"
        ))
    }

    /// Reports unknown and missing values of `with`.
    fn values(&self) -> impl Iterator<Item = Problem> {
        let called = &self.call.target.value.name;
        let takes = |name: &str| {
            let need = self.callable.needs.iter().any(|need| need.step == *name);
            need || self.callable.with.iter().any(|(known, _)| known == name)
        };
        let strange = self.call.with.iter().filter(move |value| !takes(&value.name.value));
        let strange = strange.map(move |value| {
            let title = format!("`{called}` does not take the value `{}`", value.name.value);
            Problem::new(ProblemCode::UnknownKey, value.name.span.clone(), title)
        });
        let given = |name: &str| self.call.with.iter().any(|value| value.name.value == *name);
        let missing = self.callable.with.iter().filter(move |(name, may)| !may && !given(name));
        let missing = missing.map(move |(name, _)| {
            let title = format!("`{called}` requires the value `{name}`");
            let help = format!("pass it: `with: {{ {name}: … }}`");
            Problem::new(ProblemCode::MissingKey, self.call.target.span.clone(), title).help(help)
        });
        strange.chain(missing)
    }
}
