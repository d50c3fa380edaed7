//! The pipeline after expansion: every step with its defaults and params, as a file with the same plan.

use serde_json::Value;
use windlass_core::expand::ExpandedPipeline;
use windlass_core::expr::Expression;
use windlass_core::files::{ArtifactsWhen, MissingArtifacts};
use windlass_core::plan::{LockOrder, OnLostContact, PinTarget, RetryOn, StatusCondition};
use windlass_core::spec::{
    ActionDecl, ArtifactsDecl, FetchDecl, LockRef, NeedRef, NodeFilter, ParamDecl, PipelineDecl,
    RetryDecl, Spanned, SpannedCondition, SpannedSetting, SpannedTemplate, StepDecl, StepSettings,
    VariableDecl, WorkspaceDecl,
};

use super::expanded_matrix::matrix;
use super::ordered_document::OrderedDocument;
use super::resolved_params::{DocumentEntries, ResolvedParams};

/// The document. It has no top-level `defaults` or `env`: every step has its own.
pub(crate) fn definition(pipeline: &PipelineDecl, expanded: &ExpandedPipeline) -> OrderedDocument {
    let known = ResolvedParams::new(expanded);
    let mut map = DocumentEntries::default();
    map.put("name", OrderedDocument::text(expanded.plan.pipeline()));
    map.some("about", pipeline.about.as_ref().map(OrderedDocument::text));
    map.some("timeout", expanded.timeout.map(|span| OrderedDocument::text(span.to_string())));
    map.filled("params", pipeline.params.iter().map(|param| named_param(param, expanded)));
    map.filled(
        "locks",
        pipeline.locks.iter().map(|(name, slots)| (name.value.clone(), known.number(slots))),
    );
    map.some("workspace", pipeline.workspace.as_ref().map(|of| workspace(&of.value)));
    let steps = pipeline.steps.iter().map(|step| {
        let written = written(&known, pipeline, step);
        (step.name.value.clone(), written)
    });
    map.put("steps", OrderedDocument::Map(steps.collect()));
    OrderedDocument::Map(map.0)
}

pub(super) fn written(
    known: &ResolvedParams,
    pipeline: &PipelineDecl,
    step: &StepDecl,
) -> OrderedDocument {
    let (own, defaults) = (&step.settings, &pipeline.defaults);
    let mut map = DocumentEntries::default();
    map.some("about", step.about.as_ref().map(OrderedDocument::text));
    map.some("needs", some_list(step.needs.iter().map(need)));
    map.some("if", step.condition.as_ref().map(|when| condition(known, when)));
    map.some("matrix", step.matrix.as_ref().map(|of| matrix(known, of)));
    map.some("lock", some_list(step.locks.iter().map(|lock| lock_use(known, lock))));
    map.some("pin", (step.pin == PinTarget::Leader).then(|| OrderedDocument::text("leader")));
    map.some("per_worker", step.per_worker.as_ref().map(|count| known.number(count)));
    map.some("idempotent", step.idempotency_key.as_ref().map(|key| known.text(key)));
    map.filled("env", env(known, [&pipeline.env, &defaults.env, &own.env]));
    settings(known, &mut map, own, defaults);
    map.some("outputs", names(Some(&step.outputs)));
    map.some("reports", reports(known, &step.junit_reports));
    map.some("artifacts", step.artifacts.as_ref().map(|of| artifacts(known, of)));
    map.some("fetch", step.fetch.as_ref().map(|of| fetched(of)));
    match &step.action {
        ActionDecl::Script { written, .. } | ActionDecl::Exec { written, .. } => {
            map.put("run", OrderedDocument::text(&*written.value));
        }
        ActionDecl::Call(call) => {
            map.put("call", OrderedDocument::text(call.target.value.to_string()));
            map.filled("with", env(known, [&call.with, &[], &[]]));
        }
        ActionDecl::Noop => map.put("call", OrderedDocument::text("noop")),
        ActionDecl::Unavailable(key) => map.put(key, OrderedDocument::Map(Vec::new())),
    }
    OrderedDocument::Map(map.0)
}

/// The settings of a step, its own or by default.
fn settings(
    known: &ResolvedParams,
    map: &mut DocumentEntries,
    own: &StepSettings,
    defaults: &StepSettings,
) {
    macro_rules! of {
        ($field:ident) => {
            own.$field.as_ref().or(defaults.$field.as_ref())
        };
    }
    let span = |setting: Option<&SpannedSetting<_>>| setting.map(|setting| known.setting(setting));
    let flag = |flag: Option<&bool>| flag.map(OrderedDocument::bare);
    map.some("secrets", names(of!(secrets)));
    map.some("tags", names(of!(tags)));
    map.some("shell", of!(shell).map(|shell| OrderedDocument::text(&*shell.value)));
    map.some("dir", of!(dir).map(|dir| known.text(dir)));
    map.some("timeout", span(of!(timeout)));
    map.some("retry", of!(retry).map(|of| retry(known, of)));
    let requires = of!(requires).into_iter().flatten();
    map.some("requires", some_list(requires.map(|clause| known.setting(clause))));
    let prefers = of!(prefers).into_iter().flatten();
    map.some("prefers", some_list(prefers.map(|clause| known.setting(clause))));
    map.some("priority", of!(priority).map(|priority| known.number(priority)));
    map.some("ignore_failure", flag(of!(ignore_failure)));
    let lost_contact = of!(on_lost_contact).map(|what| match what {
        OnLostContact::Continue => "continue",
        OnLostContact::Stop => "stop",
    });
    map.some("on_lost_contact", lost_contact.map(OrderedDocument::text));
    map.some("wait_for_worker", span(of!(wait_for_worker)));
    map.some("wait_for_lock", span(of!(wait_for_lock)));
    map.some("kill_grace", span(of!(kill_grace)));
    map.some("nodes", of!(nodes).map(|of| nodes(known, of)));
}

fn artifacts(known: &ResolvedParams, declared: &ArtifactsDecl) -> OrderedDocument {
    let paths = declared.paths.iter().map(|path| known.text(path)).collect();
    let paths = OrderedDocument::one_or_list(paths);
    let ignores = declared.missing == MissingArtifacts::Ignore;
    if declared.when == ArtifactsWhen::default() && !ignores {
        return paths;
    }
    let mut map = DocumentEntries::default();
    map.put("paths", paths);
    map.put("when", OrderedDocument::text(declared.when.word()));
    map.some("missing", ignores.then(|| OrderedDocument::text("ignore")));
    OrderedDocument::Map(map.0)
}

fn fetched(declared: &[FetchDecl]) -> OrderedDocument {
    if declared.iter().all(|fetch| fetch.to.is_none()) {
        let names = declared.iter().map(|fetch| OrderedDocument::text(&*fetch.step.value));
        return OrderedDocument::List(names.collect());
    }
    let entry = |fetch: &FetchDecl| {
        let folder = fetch.to.as_ref().map_or(".", |to| &to.value);
        (fetch.step.value.clone(), OrderedDocument::text(folder))
    };
    OrderedDocument::Map(declared.iter().map(entry).collect())
}

fn workspace(declared: &WorkspaceDecl) -> OrderedDocument {
    match declared {
        WorkspaceDecl::Here => OrderedDocument::text("here"),
        WorkspaceDecl::None => OrderedDocument::text("none"),
        WorkspaceDecl::Shared(path) => {
            OrderedDocument::Map(vec![("shared".into(), OrderedDocument::text(&**path))])
        }
    }
}

fn named_param(param: &ParamDecl, expanded: &ExpandedPipeline) -> (String, OrderedDocument) {
    let mut map = DocumentEntries::default();
    map.some("about", param.about.as_ref().map(OrderedDocument::text));
    map.put("type", OrderedDocument::text(param.kind.word()));
    let choices = param.choices.iter().map(|choice| OrderedDocument::text(&*choice.value));
    map.some(
        "choose",
        (!param.choices.is_empty()).then(|| OrderedDocument::List(choices.collect())),
    );
    match expanded.params.get(&param.name.value) {
        None | Some(Value::Null) => map.put("required", OrderedDocument::bare(&false)),
        Some(Value::String(text)) => map.put("default", OrderedDocument::text(&**text)),
        Some(other) => map.put("default", OrderedDocument::bare(other)),
    }
    (param.name.value.clone(), OrderedDocument::Map(map.0))
}

fn some_list(items: impl Iterator<Item = OrderedDocument>) -> Option<OrderedDocument> {
    let items: Vec<OrderedDocument> = items.collect();
    (!items.is_empty()).then(|| OrderedDocument::one_or_list(items))
}

fn names(list: Option<&Vec<Spanned<String>>>) -> Option<OrderedDocument> {
    some_list(list.into_iter().flatten().map(|name| OrderedDocument::text(&*name.value)))
}

fn reports(known: &ResolvedParams, junit: &[SpannedTemplate]) -> Option<OrderedDocument> {
    let patterns = some_list(junit.iter().map(|pattern| known.text(pattern)))?;
    Some(OrderedDocument::Map(vec![("junit".into(), patterns)]))
}

fn need(need: &NeedRef) -> OrderedDocument {
    let step = OrderedDocument::text(&*need.step.value);
    if !need.optional {
        return step;
    }
    OrderedDocument::Map(vec![
        ("step".into(), step),
        ("optional".into(), OrderedDocument::bare(&true)),
    ])
}

/// The status first, if it is not the default, then the value condition. A condition of params alone is shown
/// unchanged.
fn condition(known: &ResolvedParams, condition: &SpannedCondition) -> OrderedDocument {
    let status = match condition.condition.status {
        StatusCondition::Success => None,
        StatusCondition::Failure => Some("failure()"),
        StatusCondition::Always => Some("always()"),
    };
    let later = condition.reads.iter().any(|read| read.path[0] == "steps");
    let value = condition
        .condition
        .value
        .as_ref()
        .map(|value| if later { known.within(value) } else { value.clone() });
    let value = value.as_ref().map(Expression::text);
    OrderedDocument::text(match (status, value) {
        (None, None) => "success()".to_owned(),
        (Some(status), None) => status.to_owned(),
        (None, Some(value)) => value.to_owned(),
        (Some(status), Some(value)) => format!("{status} and {value}"),
    })
}

fn lock_use(known: &ResolvedParams, lock: &LockRef) -> OrderedDocument {
    let order = match lock.order {
        LockOrder::Fifo => return known.text(&lock.name),
        LockOrder::NewestFirst => "newest-first",
        LockOrder::CancelOlder => "cancel-older",
    };
    let name = known.text(&lock.name);
    OrderedDocument::Map(vec![
        ("name".into(), name),
        ("order".into(), OrderedDocument::text(order)),
    ])
}

fn nodes(known: &ResolvedParams, nodes: &NodeFilter) -> OrderedDocument {
    let mut map = DocumentEntries::default();
    map.some("allow", some_list(nodes.allow.iter().map(|name| known.text(name))));
    map.some("deny", some_list(nodes.deny.iter().map(|name| known.text(name))));
    OrderedDocument::Map(map.0)
}

fn retry(known: &ResolvedParams, retry: &RetryDecl) -> OrderedDocument {
    let mut map = DocumentEntries::default();
    map.some("times", retry.times.as_ref().map(|times| known.number(times)));
    let wait = retry.wait.as_ref().map(|wait| {
        known.or_later(
            wait,
            |(min, max)| {
                if min == max { min.to_string() } else { format!("{min}..{max}") }
            },
        )
    });
    map.some("wait", wait);
    let on = retry.on.iter().map(|on| known.or_later(on, |on| retry_on(*on)));
    map.some("on", some_list(on));
    map.some("elsewhere", retry.elsewhere.then(|| OrderedDocument::bare(&true)));
    map.some("lost", retry.lost.as_ref().map(|lost| known.number(lost)));
    match <[_; 1]>::try_from(map.0) {
        Ok([(key, times)]) if key == "times" => times,
        Ok(only) => OrderedDocument::Map(only.into()),
        Err(all) => OrderedDocument::Map(all),
    }
}

/// The value of `retry.on`.
pub(super) fn retry_on(on: RetryOn) -> String {
    match on {
        RetryOn::Exit(code) => format!("exit-{code}"),
        RetryOn::Failed => "failed".to_owned(),
        RetryOn::TimedOut => "timed_out".to_owned(),
    }
}

/// Variables of the pipeline, the defaults and the step; a later one replaces an earlier one at its position.
fn env(known: &ResolvedParams, layers: [&[VariableDecl]; 3]) -> Vec<(String, OrderedDocument)> {
    let mut env: Vec<(String, OrderedDocument)> = Vec::new();
    for variable in layers.into_iter().flatten() {
        let value = known.text(&variable.value);
        match env.iter_mut().find(|(name, _)| *name == variable.name.value) {
            Some((_, earlier)) => *earlier = value,
            None => env.push((variable.name.value.clone(), value)),
        }
    }
    env
}
