//! Assembles the work of a step: its command, its variables, and other data for the worker.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::plan_time_renderer::PlanTimeRenderer;
use super::work::{StepWork, WorkAction};
use crate::expr::{Template, TemplatePiece};
use crate::files::{ArtifactRule, FetchRule, WorkspaceSource};
use crate::plan::PinTarget;
use crate::spec::{
    self, ArtifactsDecl, CallTarget, FetchDecl, PipelineDecl, Spanned, SpannedTemplate, StepDecl,
    StepSettings, VariableDecl, WorkspaceDecl,
};

/// Assembles the work of a step. Expressions that read only params are already rendered.
pub(super) fn assemble_work(
    known: &mut PlanTimeRenderer<'_>,
    (pipeline, files): (&PipelineDecl, &RunFiles<'_>),
    step: &StepDecl,
) -> StepWork {
    let (own, defaults) = (&step.settings, &pipeline.defaults);
    let (action, vars) = action(known, own, defaults, &step.action);
    let names = |list: Option<&Vec<Spanned<String>>>| -> Vec<String> {
        list.into_iter().flatten().map(|name| name.value.clone()).collect()
    };
    let secrets = names(own.secrets.as_ref().or(defaults.secrets.as_ref()));
    let others = pipeline.secrets.iter().filter(|name| !secrets.contains(name));
    let other_secrets = others.cloned().collect();
    let dir = own.dir.as_ref().or(defaults.dir.as_ref());
    let dir = dir.and_then(|text| known.partial_template(text));
    let env = env(known, [&pipeline.env, &defaults.env, &own.env]);
    let reports = step.junit_reports.iter().filter_map(|text| known.partial_template(text));
    StepWork {
        action,
        vars,
        env,
        dir,
        outputs: names(Some(&step.outputs)),
        junit_reports: reports.collect(),
        workspace: files.workspace.clone(),
        artifacts: step.artifacts.as_ref().map(|artifacts| artifact_rule(known, artifacts)),
        fetch: files.fetch_rules(step),
        secrets,
        other_secrets,
        axes: Vec::new(),
        params: BTreeMap::new(),
        pinned: step.pin == PinTarget::Leader && matches!(step.action, spec::ActionDecl::Call(_)),
        about: step.about.clone(),
    }
}

/// The files of a run: where they come from, and which steps hand some on.
#[derive(Debug)]
pub(super) struct RunFiles<'a> {
    workspace: WorkspaceSource,
    /// The names of the steps with artifacts. Looking each need up in the pipeline would take quadratic time.
    makers: BTreeSet<&'a str>,
}

impl<'a> RunFiles<'a> {
    /// The source of the files is as determined by the command that begins the run, or as written.
    pub(super) fn new(pipeline: &'a PipelineDecl, determined: Option<&WorkspaceSource>) -> Self {
        let written = || match pipeline.workspace.as_ref().map(|workspace| &workspace.value) {
            None | Some(WorkspaceDecl::Here) => WorkspaceSource::Here,
            Some(WorkspaceDecl::None) => WorkspaceSource::None,
            Some(WorkspaceDecl::Shared(path)) => WorkspaceSource::Shared(path.clone()),
        };
        let makers = pipeline.steps.iter().filter(|step| step.artifacts.is_some());
        Self {
            workspace: determined.cloned().unwrap_or_else(written),
            makers: makers.map(|step| &*step.name.value).collect(),
        }
    }

    /// Returns the artifacts that a step gets: those that it names, or else those of all its needs.
    fn fetch_rules(&self, step: &StepDecl) -> Vec<FetchRule> {
        if let Some(named) = &step.fetch {
            let rule = |fetch: &FetchDecl| FetchRule {
                step: fetch.step.value.clone(),
                to: fetch.to.as_ref().map(|to| to.value.clone()),
            };
            return named.iter().map(rule).collect();
        }
        let needs = step.needs.iter().map(|need| &need.step.value);
        let made = needs.filter(|name| self.makers.contains(&***name));
        made.map(|name| FetchRule { step: name.clone(), to: None }).collect()
    }
}

fn artifact_rule(known: &mut PlanTimeRenderer<'_>, declared: &ArtifactsDecl) -> ArtifactRule {
    let paths = declared.paths.iter().filter_map(|path| known.partial_template(path)).collect();
    ArtifactRule { paths, when: declared.when, missing: declared.missing }
}

/// Returns the params that templates of the work still read, in expressions with values that are not known yet.
pub(super) fn params_read(work: &StepWork, params: &Value) -> BTreeMap<String, Value> {
    let reads = work.templates().flat_map(Template::paths);
    let names =
        reads.filter(|read| read.path[0] == "params").filter_map(|read| read.path.get(1).cloned());
    names.map(|name| (name.clone(), params.get(&name).cloned().unwrap_or_default())).collect()
}

/// Returns the names of steps that the condition, the key or the work of a step reads.
pub(super) fn steps_read(step: &StepDecl, work: &StepWork) -> BTreeSet<String> {
    let by_work = work.templates().flat_map(Template::paths).map(|read| read.path);
    let condition =
        step.condition.iter().flat_map(|condition| &condition.reads).map(|read| read.path.clone());
    let keyed =
        step.idempotency_key.iter().flat_map(|key| &key.reads).map(|read| read.path.clone());
    let of_steps = by_work.chain(condition).chain(keyed).filter(|path| path[0] == "steps");
    let called = match &step.action {
        // The function decides which outputs it uses, so it receives all of them.
        spec::ActionDecl::Call(_) => step.needs.as_slice(),
        spec::ActionDecl::Script { .. }
        | spec::ActionDecl::Exec { .. }
        | spec::ActionDecl::Noop
        | spec::ActionDecl::Unavailable(_) => &[],
    };
    let needs = called.iter().map(|need| need.step.value.clone());
    let fetched = work.fetch.iter().map(|rule| rule.step.clone());
    of_steps.filter_map(|path| path.get(1).cloned()).chain(needs).chain(fetched).collect()
}

fn action(
    known: &mut PlanTimeRenderer<'_>,
    own: &StepSettings,
    defaults: &StepSettings,
    action: &spec::ActionDecl,
) -> (WorkAction, Vec<(String, Template)>) {
    let shell = own.shell.as_ref().or(defaults.shell.as_ref()).map(|shell| shell.value.clone());
    match action {
        spec::ActionDecl::Script { text, vars, written, reads } => {
            let vars = vars.iter().filter_map(|(name, expression)| {
                let template = Template(vec![TemplatePiece::Expr(expression.clone())]);
                let text =
                    SpannedTemplate { template, span: written.span.clone(), reads: reads.clone() };
                Some((name.clone(), known.partial_template(&text)?))
            });
            let vars = vars.collect();
            (WorkAction::Script { text: text.clone(), shell }, vars)
        }
        spec::ActionDecl::Exec { argv, .. } => {
            (WorkAction::Exec { argv: argv.clone() }, Vec::new())
        }
        spec::ActionDecl::Call(call) => (call_action(known, call), Vec::new()),
        spec::ActionDecl::Noop => (WorkAction::Noop, Vec::new()),
        spec::ActionDecl::Unavailable(key) => {
            (WorkAction::Unavailable { key: (*key).to_owned() }, Vec::new())
        }
    }
}

fn call_action(known: &mut PlanTimeRenderer<'_>, call: &spec::CallDecl) -> WorkAction {
    let CallTarget { name, signature } = call.target.value.clone();
    let value = |value: &VariableDecl| {
        Some((value.name.value.clone(), known.partial_template(&value.value)?))
    };
    WorkAction::Call { name, signature, with: call.with.iter().filter_map(value).collect() }
}

/// Merges the variables of the pipeline, the defaults and the step. Later values win, at the position of the first.
fn env(known: &mut PlanTimeRenderer<'_>, layers: [&[VariableDecl]; 3]) -> Vec<(String, Template)> {
    let mut env: Vec<(String, Template)> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for variable in layers.into_iter().flatten() {
        let Some(value) = known.partial_template(&variable.value) else { continue };
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
