//! Assembles the work of a step: its command, its variables, and what else a worker must know.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::render::Known;
use super::work::{Action, Work};
use crate::expr::{Piece, Template};
use crate::plan::Pin;
use crate::spec::{self, CallTarget, Pipeline, Settings, Spanned, Step, Text, Variable};

/// The work of a step, with everything in place that reads only params.
pub(super) fn work(known: &mut Known<'_>, pipeline: &Pipeline, step: &Step) -> Work {
    let (own, defaults) = (&step.settings, &pipeline.defaults);
    let (action, vars) = action(known, own, defaults, &step.action);
    let names = |list: Option<&Vec<Spanned<String>>>| -> Vec<String> {
        list.into_iter().flatten().map(|name| name.value.clone()).collect()
    };
    let secrets = names(own.secrets.as_ref().or(defaults.secrets.as_ref()));
    let others = pipeline.secrets.iter().filter(|name| !secrets.contains(name));
    let other_secrets = others.cloned().collect();
    let dir = own.dir.as_ref().or(defaults.dir.as_ref());
    Work {
        action,
        vars,
        env: env(known, [&pipeline.env, &defaults.env, &own.env]),
        dir: dir.and_then(|text| known.fold(text)),
        outputs: names(Some(&step.outputs)),
        secrets,
        other_secrets,
        axes: Vec::new(),
        params: BTreeMap::new(),
        pinned: step.pin == Pin::Leader && matches!(step.action, spec::Action::Call(_)),
        about: step.about.clone(),
    }
}

/// The params that templates of the work still read, beside values that are not known yet.
pub(super) fn params_left(work: &Work, params: &Value) -> BTreeMap<String, Value> {
    let reads = work.templates().flat_map(Template::paths);
    let names =
        reads.filter(|read| read.path[0] == "params").filter_map(|read| read.path.get(1).cloned());
    names.map(|name| (name.clone(), params.get(&name).cloned().unwrap_or_default())).collect()
}

/// Names of the steps that the condition, the key or the work of a step reads.
pub(super) fn steps_read(step: &Step, work: &Work) -> BTreeSet<String> {
    let by_work = work.templates().flat_map(Template::paths).map(|read| read.path);
    let asked = step.condition.iter().flat_map(|asked| &asked.reads).map(|read| read.path.clone());
    let keyed = step.once.iter().flat_map(|key| &key.reads).map(|read| read.path.clone());
    let of_steps = by_work.chain(asked).chain(keyed).filter(|path| path[0] == "steps");
    let called = match &step.action {
        // What it takes of them is its own business: it gets all that they hand on.
        spec::Action::Call(_) => step.needs.as_slice(),
        spec::Action::Script { .. }
        | spec::Action::Exec { .. }
        | spec::Action::Noop
        | spec::Action::Unavailable(_) => &[],
    };
    let needs = called.iter().map(|need| need.step.value.clone());
    of_steps.filter_map(|path| path.get(1).cloned()).chain(needs).collect()
}

fn action(
    known: &mut Known<'_>,
    own: &Settings,
    defaults: &Settings,
    action: &spec::Action,
) -> (Action, Vec<(String, Template)>) {
    let shell = own.shell.as_ref().or(defaults.shell.as_ref()).map(|shell| shell.value.clone());
    match action {
        spec::Action::Script { text, vars, written, reads } => {
            let vars = vars.iter().filter_map(|(name, expression)| {
                let template = Template(vec![Piece::Expr(expression.clone())]);
                let text = Text { template, span: written.span.clone(), reads: reads.clone() };
                Some((name.clone(), known.fold(&text)?))
            });
            let vars = vars.collect();
            (Action::Script { text: text.clone(), shell }, vars)
        }
        spec::Action::Exec { argv, .. } => (Action::Exec { argv: argv.clone() }, Vec::new()),
        spec::Action::Call(call) => (called(known, call), Vec::new()),
        spec::Action::Noop => (Action::Noop, Vec::new()),
        spec::Action::Unavailable(key) => {
            (Action::Unavailable { key: (*key).to_owned() }, Vec::new())
        }
    }
}

fn called(known: &mut Known<'_>, call: &spec::Call) -> Action {
    let CallTarget { name, signature } = call.target.value.clone();
    let value = |value: &Variable| Some((value.name.value.clone(), known.fold(&value.value)?));
    Action::Call { name, signature, with: call.with.iter().filter_map(value).collect() }
}

/// Variables of the pipeline, the defaults and the step; the later ones win, in the place of the first.
fn env(known: &mut Known<'_>, layers: [&[Variable]; 3]) -> Vec<(String, Template)> {
    let mut env: Vec<(String, Template)> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for variable in layers.into_iter().flatten() {
        let Some(value) = known.fold(&variable.value) else { continue };
        let name = &*variable.name.value;
        if let Some(at) = places.get(name) {
            env[*at].1 = value;
        } else {
            places.insert(name, env.len());
            env.push((name.to_owned(), value));
        }
    }
    env
}
