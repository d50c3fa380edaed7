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
use windlass_core::engine::{
    EngineAnswer, EngineRequest, ReusedOutcome, RunOptions, SubmitRun, SubmitWarning,
    UnplaceablePolicy,
};
use windlass_core::expand::{
    ExpandInputs, ExpandedPipeline, InvalidPipeline, PipelineChecks, StepSelection, ValidPipeline,
};
use windlass_core::id::RunId;
use windlass_core::plan::Plan;
use windlass_core::problem::{ProblemSeverity, SourceFile};
use windlass_core::spec::CallableSet;
use windlass_core::time::Span;
use windlass_link::http::KEY_HEADER;
use windlass_net::random::new_run_id;
use windlass_store::archive::{SubmissionKeyClaim, SubmissionKeyOutcome};

use crate::api::access::RequestPrincipal;
use crate::api::api_error::ApiError;
use crate::api::extract::BodyBytes;
use crate::api::router::Api;
use crate::api::{extract, name_rules};

/// A pipeline to be run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the body")]
struct SubmitRunBody {
    text: String,
    file: Option<String>,
    name: Option<String>,
    #[serde(default)]
    params: BTreeMap<String, Value>,
    #[serde(default)]
    selection: SubmittedSelection,
    #[serde(default)]
    keep_going: bool,
    #[serde(default)]
    again: bool,
    timeout_ms: Option<u64>,
    fingerprint: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct SubmittedSelection {
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
pub(super) struct PlannedSubmission {
    pub(super) plan: Arc<Plan>,
    pub(super) options: RunOptions,
    /// Outcomes of an earlier run.
    pub(super) reused: Vec<ReusedOutcome>,
}

/// Makes a run of a pipeline. The answer comes when the run is durable.
pub(in crate::api) async fn submit(
    State(api): State<Arc<Api>>,
    headers: HeaderMap,
    RequestPrincipal(by): RequestPrincipal,
    BodyBytes(body): BodyBytes,
) -> Result<Response, ApiError> {
    let key = idempotency_key(&headers)?;
    let planned = if let Some(quick) = parse_if_quick(&body) {
        catch_unwind(AssertUnwindSafe(|| quick.plan())).ok()
    } else {
        // There are few threads that answer, and a plan can take much memory while it is made.
        let turn = api.planning.permit(body.len()).await?;
        let bytes = body.clone();
        let made = spawn_blocking(move || {
            let planned = extract::json::<SubmitRunBody>(&bytes).and_then(SubmitRunBody::plan);
            drop(turn);
            planned
        });
        made.await.ok()
    };
    let planned =
        planned.ok_or_else(|| ApiError::bad_request("this pipeline made windlass stumble"))??;
    begin((&api, by), key, &body, planned).await
}

/// A submission that is planned in less time than it takes to wake another thread for it: it is short, and its pipeline
/// multiplies nothing. The text is looked at as it is read, since JSON can spell each character of it in another way.
fn parse_if_quick(body: &[u8]) -> Option<SubmitRunBody> {
    if body.len() > QUICK {
        return None;
    }
    extract::json::<SubmitRunBody>(body).ok().filter(SubmitRunBody::multiplies_nothing)
}

/// Makes a run, or finds the one that was made of the same words under the same key.
pub(super) async fn begin(
    (api, by): (&Api, Principal),
    key: Option<String>,
    said: &[u8],
    planned: PlannedSubmission,
) -> Result<Response, ApiError> {
    let fresh = new_run_id(api.now());
    let (run, known) = match key {
        None => (fresh, false),
        Some(key) => claim_idempotency_key(api, key, said, fresh).await?,
    };
    if known && is_here(api, run).await? {
        return Ok(taken(run, &[], known));
    }
    let PlannedSubmission { plan, options, reused } = planned;
    let submit = SubmitRun { run, plan, options, reused };
    match api.handle.ask(EngineRequest::Submit(submit).by(by)).await? {
        EngineAnswer::Submitted { warnings } => Ok(taken(run, &warnings, known)),
        EngineAnswer::Denied(denial) => Err(denial.into()),
        other => unreachable!("a submission is taken or denied, not {other:?}"),
    }
}

fn taken(run: RunId, warnings: &[SubmitWarning], known: bool) -> Response {
    let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    let status = if known { StatusCode::OK } else { StatusCode::CREATED };
    let place = [(header::LOCATION, format!("/runs/{run}"))];
    let told = json!({ "id": run.to_string(), "warnings": warnings, "known": known });
    (status, place, Answered(told)).into_response()
}

pub(super) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let Some(key) = headers.get(KEY_HEADER) else { return Ok(None) };
    let fits = |key: &str| (1..=windlass_store::archive::KEY_MAX).contains(&key.len());
    let is_visible = |key: &str| key.bytes().all(|byte| byte.is_ascii_graphic());
    match key.to_str() {
        Ok(key) if fits(key) && is_visible(key) => Ok(Some(key.to_owned())),
        _ => Err(ApiError::bad_request(format!(
            "`{KEY_HEADER}` is a text of 1 to {} ASCII characters without spaces",
            windlass_store::archive::KEY_MAX
        ))),
    }
}

/// The run that a key stands for, and whether it did before.
async fn claim_idempotency_key(
    api: &Api,
    key: String,
    said: &[u8],
    run: RunId,
) -> Result<(RunId, bool), ApiError> {
    let body = *blake3::hash(said).as_bytes();
    match api
        .stores
        .archive
        .claim(SubmissionKeyClaim { key, body, run, at: api.latest_now() })
        .await?
    {
        SubmissionKeyOutcome::New => Ok((run, false)),
        SubmissionKeyOutcome::Known(run) => Ok((run, true)),
        SubmissionKeyOutcome::Conflict(run) => Err(ApiError::conflict(
            "key_conflict",
            format!(
                "this idempotency key stands for run {run}, which was submitted with another body"
            ),
        )),
    }
}

/// Whether a run that a key stands for was made. If not, its first submission did not get through.
async fn is_here(api: &Api, run: RunId) -> Result<bool, ApiError> {
    let is_open = api.handle.views().look(|view| view.engine.run(run).is_some());
    Ok(is_open || api.stores.archive.run(run).await?.is_some())
}

impl SubmitRunBody {
    fn multiplies_nothing(&self) -> bool {
        !MULTIPLIERS.iter().any(|sign| self.text.contains(sign))
    }

    fn plan(self) -> Result<PlannedSubmission, ApiError> {
        let file = self.file.as_deref().unwrap_or("windlass.yml");
        let name = self.name.as_deref().unwrap_or("pipeline");
        name_rules::check("the name of a pipeline", name)?;
        let params = params(&self.params)?;
        let unavailable_key_severity = ProblemSeverity::Error;
        let checks = PipelineChecks { calls: &CallableSet::Any, unavailable_key_severity };
        let valid = SourceFile::from_bytes(file, self.text.as_bytes())
            .map_err(Into::into)
            .and_then(|source| ValidPipeline::read(source, checks))
            .map_err(|invalid| unsound(&invalid))?;
        let selected = valid.select(&self.selection.to_selection());
        let selected = selected.map_err(|error| ApiError::bad_request(error.to_string()))?;
        let expanded = selected.plan(ExpandInputs { name, params: &params });
        let expanded = expanded.map_err(|invalid| unsound(&invalid))?;
        self.planned(expanded)
    }

    fn planned(self, expanded: ExpandedPipeline) -> Result<PlannedSubmission, ApiError> {
        let ours = expanded.plan.fingerprint().to_string();
        if let Some(theirs) = self.fingerprint.filter(|theirs| *theirs != ours) {
            let detail = format!(
                "the client made plan {theirs} of this file, this controller makes {ours}: use the same release on both sides"
            );
            return Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "other_plan", detail));
        }
        let options = RunOptions {
            root: None,
            keep_going: self.keep_going,
            unplaceable: UnplaceablePolicy::Wait,
            timeout: self.timeout_ms.map(Span::millis).or(expanded.timeout),
        };
        let plan = Arc::new(expanded.plan.with_idempotency_ignored(self.again));
        Ok(PlannedSubmission { plan, options, reused: Vec::new() })
    }
}

impl SubmittedSelection {
    fn to_selection(&self) -> StepSelection {
        let Self { steps, only, from, tags } = self;
        StepSelection {
            steps: steps.clone(),
            only: only.clone(),
            from: from.clone(),
            tags: tags.clone(),
        }
    }
}

/// Params are texts; a number or a truth value stands for its own.
fn params(given: &BTreeMap<String, Value>) -> Result<BTreeMap<String, String>, ApiError> {
    let text = |(name, value): (&String, &Value)| match value {
        Value::String(text) => Ok((name.clone(), text.clone())),
        Value::Number(_) | Value::Bool(_) => Ok((name.clone(), value.to_string())),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            Err(ApiError::bad_request(format!("param `{name}` is no text, number, true or false")))
        }
    };
    given.iter().map(text).collect()
}

fn unsound(invalid: &InvalidPipeline) -> ApiError {
    let InvalidPipeline { source, problems, only_params_are_wrong } = invalid;
    let code = if *only_params_are_wrong { "bad_params" } else { "bad_pipeline" };
    let worst = problems.iter().find(|problem| problem.severity == ProblemSeverity::Error);
    let first = worst.map_or_else(String::new, |problem| {
        let line = source.line_column(problem.span.start).line;
        format!("line {line} of {}: {} ({})", source.name(), problem.title, problem.code)
    });
    let list = problems.iter().map(|problem| problem.to_json(source)).collect();
    ApiError::invalid_pipeline(code, first, list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_short_texts_that_multiply_nothing_are_planned_where_they_arrive() {
        let is_quick =
            |text: &str| parse_if_quick(json!({ "text": text }).to_string().as_bytes()).is_some();
        assert!(is_quick("name: ship\nsteps: { build: { run: make, lock: prod } }\n"));
        assert!(!is_quick(&format!("steps: {{ build: {{ run: {} }} }}", "x".repeat(QUICK))));
        assert!(!is_quick("steps: { s: { run: make, matrix: { x: [a, b] } } }"));
        assert!(!is_quick("x-a: &a [x]\nx-b: [*a, *a]\nsteps: { s: { run: make } }"));
        assert!(!is_quick(r#"steps: { s: { run: make, "m\x61trix": { x: [a, b] } } }"#));
        let spelt = br#"{"text":"steps: { s: { run: make, m\u0061trix: { x: [a, b] } } }"}"#;
        assert!(parse_if_quick(spelt).is_none(), "JSON can spell a word in many ways");
        let spelt = br#"{"text":"x-a: \u0026a [x]\nsteps: { s: { run: make } }"}"#;
        assert!(parse_if_quick(spelt).is_none());
    }
}
