//! `POST /runs`

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::spawn_blocking;
use windlass_core::access::Principal;
use windlass_core::engine::{Answer, Request, Reused, RunOptions, Submit, Unplaceable, Warning};
use windlass_core::expand::{Expanded, Inputs, Selection, expand};
use windlass_core::id::RunId;
use windlass_core::plan::Plan;
use windlass_core::problem::{Code, Problem, Severity, Source};
use windlass_core::spec::{self, Calls, Options};
use windlass_core::time::Span;

use crate::archive::{Claim, Claimed};
use crate::chance::new_run;
use crate::controller::api::access::By;
use crate::controller::api::input::{self, Body};
use crate::controller::api::names;
use crate::controller::api::refused::Refused;
use crate::controller::api::router::Api;
use crate::link::http::KEY_HEADER;

/// A pipeline to be run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the body")]
struct Submission {
    text: String,
    file: Option<String>,
    name: Option<String>,
    #[serde(default)]
    params: BTreeMap<String, Value>,
    #[serde(default)]
    selection: Selected,
    #[serde(default)]
    keep_going: bool,
    #[serde(default)]
    again: bool,
    timeout_ms: Option<u64>,
    fingerprint: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Selected {
    steps: Vec<String>,
    only: Vec<String>,
    from: Vec<String>,
    tags: Vec<String>,
}

/// Bytes of a submission that is short.
const QUICK: usize = 4 << 10;

/// What multiplies a text, or could hide what does: the cells of a matrix, anchors and aliases, escapes.
const MULTIPLIERS: [&str; 4] = ["matrix", "&", "*", "\\"];

/// What can be run, and how.
pub(super) struct Planned {
    pub(super) plan: Arc<Plan>,
    pub(super) options: RunOptions,
    /// Outcomes of an earlier run.
    pub(super) reused: Vec<Reused>,
}

/// Makes a run of a pipeline. The answer comes when the run is durable.
pub(in crate::controller::api) async fn submit(
    State(api): State<Arc<Api>>,
    headers: HeaderMap,
    By(by): By,
    Body(body): Body,
) -> Result<Response, Refused> {
    let key = key(&headers)?;
    let planned = if let Some(quick) = quick(&body) {
        catch_unwind(AssertUnwindSafe(|| quick.plan())).ok()
    } else {
        // There are few threads that answer, and a plan can take much memory while it is made.
        let turn = api.planning.turn(body.len()).await?;
        let bytes = body.clone();
        let made = spawn_blocking(move || {
            let planned = input::json::<Submission>(&bytes).and_then(Submission::plan);
            drop(turn);
            planned
        });
        made.await.ok()
    };
    let planned = planned.ok_or_else(|| Refused::bad("this pipeline made windlass stumble"))??;
    begin((&api, by), key, &body, planned).await
}

/// A submission that is planned in less time than it takes to wake another thread for it: it is short, and its pipeline
/// multiplies nothing. The text is looked at as it is read, since JSON can spell each character of it in another way.
fn quick(body: &[u8]) -> Option<Submission> {
    if body.len() > QUICK {
        return None;
    }
    input::json::<Submission>(body).ok().filter(Submission::multiplies_nothing)
}

/// Makes a run, or finds the one that was made of the same words under the same key.
pub(super) async fn begin(
    (api, by): (&Api, Principal),
    key: Option<String>,
    said: &[u8],
    planned: Planned,
) -> Result<Response, Refused> {
    let fresh = new_run(api.now());
    let (run, known) = match key {
        None => (fresh, false),
        Some(key) => claim(api, key, said, fresh).await?,
    };
    if known && is_here(api, run).await? {
        return Ok(taken(run, &[], known));
    }
    let Planned { plan, options, reused } = planned;
    let submit = Submit { run, plan, options, reused };
    match api.handle.ask(Request::Submit(submit).by(by)).await? {
        Answer::Submitted { warnings } => Ok(taken(run, &warnings, known)),
        Answer::Denied(denial) => Err(denial.into()),
        other => unreachable!("a submission is taken or denied, not {other:?}"),
    }
}

fn taken(run: RunId, warnings: &[Warning], known: bool) -> Response {
    let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    let status = if known { StatusCode::OK } else { StatusCode::CREATED };
    let place = [(header::LOCATION, format!("/runs/{run}"))];
    let told = json!({ "id": run.to_string(), "warnings": warnings, "known": known });
    (status, place, Answered(told)).into_response()
}

pub(super) fn key(headers: &HeaderMap) -> Result<Option<String>, Refused> {
    let Some(key) = headers.get(KEY_HEADER) else { return Ok(None) };
    let fits = |key: &str| (1..=crate::archive::KEY_MAX).contains(&key.len());
    let is_visible = |key: &str| key.bytes().all(|byte| byte.is_ascii_graphic());
    match key.to_str() {
        Ok(key) if fits(key) && is_visible(key) => Ok(Some(key.to_owned())),
        _ => Err(Refused::bad(format!(
            "`{KEY_HEADER}` is a text of 1 to {} ASCII characters without spaces",
            crate::archive::KEY_MAX
        ))),
    }
}

/// The run that a key stands for, and whether it did before.
async fn claim(api: &Api, key: String, said: &[u8], run: RunId) -> Result<(RunId, bool), Refused> {
    let body = *blake3::hash(said).as_bytes();
    match api.kept.archive.claim(Claim { key, body, run, at: api.latest_now() }).await? {
        Claimed::New => Ok((run, false)),
        Claimed::Known(run) => Ok((run, true)),
        Claimed::Conflict(run) => Err(Refused::conflict(
            "key_conflict",
            format!(
                "this idempotency key stands for run {run}, which was submitted with another body"
            ),
        )),
    }
}

/// Whether a run that a key stands for was made. If not, its first submission did not get through.
async fn is_here(api: &Api, run: RunId) -> Result<bool, Refused> {
    let is_open = api.handle.views().look(|view| view.engine.run(run).is_some());
    Ok(is_open || api.kept.archive.run(run).await?.is_some())
}

impl Submission {
    fn multiplies_nothing(&self) -> bool {
        !MULTIPLIERS.iter().any(|sign| self.text.contains(sign))
    }

    fn plan(self) -> Result<Planned, Refused> {
        let file = self.file.as_deref().unwrap_or("windlass.yml");
        let name = self.name.as_deref().unwrap_or("pipeline");
        names::check("the name of a pipeline", name)?;
        let params = params(&self.params)?;
        let source = Source::from_bytes(file, self.text.as_bytes())
            .map_err(|rejected| unsound(&rejected.source, &[*rejected.problem]))?;
        let (pipeline, problems) =
            spec::read_knowing(&source, Options { not_available: Severity::Error }, &Calls::Any);
        let pipeline = pipeline.ok_or_else(|| unsound(&source, &problems))?;
        let pipeline = self.selection.to_selection().of(pipeline);
        let pipeline = pipeline.map_err(|error| Refused::bad(error.to_string()))?;
        let expanded = expand(&pipeline, Inputs { name, params: &params })
            .map_err(|problems| unsound(&source, &problems))?;
        self.planned(expanded)
    }

    fn planned(self, expanded: Expanded) -> Result<Planned, Refused> {
        let ours = expanded.plan.fingerprint().to_string();
        if let Some(theirs) = self.fingerprint.filter(|theirs| *theirs != ours) {
            let detail = format!(
                "the client made plan {theirs} of this file, this controller makes {ours}: use the same release on both sides"
            );
            return Err(Refused::new(StatusCode::UNPROCESSABLE_ENTITY, "other_plan", detail));
        }
        let options = RunOptions {
            root: None,
            keep_going: self.keep_going,
            unplaceable: Unplaceable::Wait,
            timeout: self.timeout_ms.map(Span::millis).or(expanded.timeout),
        };
        let plan = Arc::new(expanded.plan.done_again(self.again));
        Ok(Planned { plan, options, reused: Vec::new() })
    }
}

impl Selected {
    fn to_selection(&self) -> Selection {
        let Self { steps, only, from, tags } = self;
        Selection {
            steps: steps.clone(),
            only: only.clone(),
            from: from.clone(),
            tags: tags.clone(),
        }
    }
}

/// Params are texts; a number or a truth value stands for its own.
fn params(given: &BTreeMap<String, Value>) -> Result<BTreeMap<String, String>, Refused> {
    let text = |(name, value): (&String, &Value)| match value {
        Value::String(text) => Ok((name.clone(), text.clone())),
        Value::Number(_) | Value::Bool(_) => Ok((name.clone(), value.to_string())),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            Err(Refused::bad(format!("param `{name}` is no text, number, true or false")))
        }
    };
    given.iter().map(text).collect()
}

fn unsound(source: &Source, problems: &[Problem]) -> Refused {
    const PARAMS: [Code; 4] =
        [Code::ParamUnknown, Code::ParamMissing, Code::ParamChoice, Code::ParamType];
    let of_params = problems.iter().all(|problem| PARAMS.contains(&problem.code));
    let code = if of_params { "bad_params" } else { "bad_pipeline" };
    let worst = problems.iter().find(|problem| problem.severity == Severity::Error);
    let first = worst.map_or_else(String::new, |problem| {
        let line = source.place(problem.span.start).line;
        format!("line {line} of {}: {} ({})", source.name(), problem.title, problem.code)
    });
    let list = problems.iter().map(|problem| problem.to_json(source)).collect();
    Refused::unsound(code, first, list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_short_texts_that_multiply_nothing_are_planned_where_they_arrive() {
        let is_quick = |text: &str| quick(json!({ "text": text }).to_string().as_bytes()).is_some();
        assert!(is_quick("name: ship\nsteps: { build: { run: make, lock: prod } }\n"));
        assert!(!is_quick(&format!("steps: {{ build: {{ run: {} }} }}", "x".repeat(QUICK))));
        assert!(!is_quick("steps: { s: { run: make, matrix: { x: [a, b] } } }"));
        assert!(!is_quick("x-a: &a [x]\nx-b: [*a, *a]\nsteps: { s: { run: make } }"));
        assert!(!is_quick(r#"steps: { s: { run: make, "m\x61trix": { x: [a, b] } } }"#));
        let spelt = br#"{"text":"steps: { s: { run: make, m\u0061trix: { x: [a, b] } } }"}"#;
        assert!(quick(spelt).is_none(), "JSON can spell a word in many ways");
        let spelt = br#"{"text":"x-a: \u0026a [x]\nsteps: { s: { run: make } }"}"#;
        assert!(quick(spelt).is_none());
    }
}
