//! Checks the given params against the declared ones.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::problem::{Problem, ProblemCode};
use crate::spec::{PARAM_BYTES_MAX, ParamDecl, PipelineDecl, nearest_name};

/// Maximum unknown params reported; each is compared with all declared ones.
const UNKNOWN_MAX: usize = 20;

/// Returns all params with their values. An optional param that was not given is null.
pub(super) fn params(
    pipeline: &PipelineDecl,
    given: &BTreeMap<String, String>,
    problems: &mut Vec<Problem>,
) -> BTreeMap<String, Value> {
    let declared: BTreeSet<&str> = pipeline.params.iter().map(|param| &*param.name.value).collect();
    let unknowns = given.keys().filter(|name| !declared.contains(&***name));
    problems.extend(unknowns.take(UNKNOWN_MAX).map(|name| unknown(pipeline, name)));
    let values = pipeline.params.iter().map(|param| {
        let given = given.get(&param.name.value);
        let value = given.map_or_else(|| default_value(param), |text| given_value(param, text));
        let value = value.unwrap_or_else(|problem| {
            problems.push(*problem);
            Value::Null
        });
        (param.name.value.clone(), value)
    });
    values.collect()
}

fn given_value(param: &ParamDecl, text: &str) -> Result<Value, Box<Problem>> {
    let (name, span) = (&param.name.value, param.name.span.clone());
    if text.len() > PARAM_BYTES_MAX {
        let bytes = text.len();
        let title = format!(
            "the value of a param can have at most {PARAM_BYTES_MAX} bytes; `{name}` has {bytes}"
        );
        let problem = Problem::new(ProblemCode::ParamType, span, title);
        return Err(Box::new(problem.help("put it into a file, and pass the path of the file")));
    }
    let allowed: Vec<&str> = param.choices.iter().map(|choice| &*choice.value).collect();
    if !allowed.is_empty() && !allowed.contains(&text) {
        let title = format!("`{text}` is not one of the choices of the param `{name}`");
        let problem = Problem::new(ProblemCode::ParamChoice, span, title);
        return Err(Box::new(problem.help(format!("use one of {}", allowed.join(", ")))));
    }
    param.kind.value(text).ok_or_else(|| {
        let title = format!("the param `{name}` is a {}, but `{text}` is not", param.kind.word());
        Box::new(Problem::new(ProblemCode::ParamType, span, title))
    })
}

fn default_value(param: &ParamDecl) -> Result<Value, Box<Problem>> {
    match &param.default {
        Some(default) => Ok(param.kind.value(&default.value).unwrap_or(Value::Null)),
        None if !param.required => Ok(Value::Null),
        None => {
            let name = &param.name.value;
            let title = format!("missing param `{name}`");
            let problem = Problem::new(ProblemCode::ParamMissing, param.name.span.clone(), title);
            Err(Box::new(
                problem.help(format!("pass it with `--param {name}=…`, or declare a default")),
            ))
        }
    }
}

fn unknown(pipeline: &PipelineDecl, name: &str) -> Problem {
    let names: Vec<&str> = pipeline.params.iter().map(|param| &*param.name.value).collect();
    let span = pipeline.params.first().map_or(0..0, |param| param.name.span.clone());
    let problem =
        Problem::new(ProblemCode::ParamUnknown, span, format!("there is no param `{name}`"));
    match nearest_name(name, names.iter().copied()) {
        Some(near) => problem.help(format!("did you mean `{near}`?")),
        None if names.is_empty() => problem.help("this pipeline has no params"),
        None => problem.help(format!("its params are {}", names.join(", "))),
    }
}
