//! A submitted pipeline becomes a plan.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use axum::http::StatusCode;
use hyper::body::Bytes;
use tokio::task::spawn_blocking;
use windlass_core::engine::{ReusedOutcome, RunOptions, UnplaceablePolicy};
use windlass_core::expand::{
    ExpandInputs, ExpandedPipeline, InvalidPipeline, PipelineChecks, StepSelection, ValidPipeline,
};
use windlass_core::files::WorkspaceSource;
use windlass_core::object::ObjectId;
use windlass_core::plan::Plan;
use windlass_core::problem::{ProblemSeverity, SourceFile};
use windlass_core::spec::CallableSet;
use windlass_core::time::Span;
use windlass_link::http::{ParamValue, SubmitRunBody};

use crate::api::api_error::ApiError;
use crate::api::api_state::Api;
use crate::api::{extract, name_rules};

/// The most bytes of a submission that is planned on the thread that receives it.
const QUICK: usize = 4 << 10;

/// Signs of a text that is large once expanded, or that hides such a sign: matrix cells, anchors and aliases, escapes.
const MULTIPLIERS: [&str; 4] = ["matrix", "&", "*", "\\"];

/// A plan, with the options of its run.
pub(super) struct PlannedSubmission {
    pub(super) plan: Arc<Plan>,
    pub(super) options: RunOptions,
    /// Outcomes of an earlier run.
    pub(super) reused: Vec<ReusedOutcome>,
}

/// Plans the body of a submission. A large one waits for its turn, on a separate thread: few threads answer requests, and
/// planning can take much memory.
pub(super) async fn plan_body(api: &Api, body: &Bytes) -> Result<PlannedSubmission, ApiError> {
    let planned = if let Some(quick) = parse_if_quick(body) {
        catch_unwind(AssertUnwindSafe(|| plan(quick))).ok()
    } else {
        let turn = api.planning.permit(body.len()).await?;
        let bytes = body.clone();
        let made = spawn_blocking(move || {
            let planned = extract::json::<SubmitRunBody>(&bytes).and_then(plan);
            drop(turn);
            planned
        });
        made.await.ok()
    };
    planned.ok_or_else(|| ApiError::bad_request("this pipeline made windlass stumble"))?
}

/// Parses a submission that takes less time to plan than to wake another thread: it is short, and nothing in its pipeline
/// multiplies steps. The text is checked after JSON is decoded, since JSON can escape each character.
fn parse_if_quick(body: &[u8]) -> Option<SubmitRunBody> {
    if body.len() > QUICK {
        return None;
    }
    let multiplies =
        |submitted: &SubmitRunBody| MULTIPLIERS.iter().any(|sign| submitted.text.contains(sign));
    extract::json(body).ok().filter(|submitted| !multiplies(submitted))
}

fn plan(mut submitted: SubmitRunBody) -> Result<PlannedSubmission, ApiError> {
    let file = submitted.file.as_deref().unwrap_or("windlass.yml");
    let name = submitted.name.as_deref().unwrap_or("pipeline");
    name_rules::check("the name of a pipeline", name)?;
    let params = params(&submitted.params)?;
    let unavailable_key_severity = ProblemSeverity::Error;
    let checks = PipelineChecks { calls: &CallableSet::Any, unavailable_key_severity };
    let valid = SourceFile::from_bytes(file, submitted.text.as_bytes())
        .map_err(Into::into)
        .and_then(|source| ValidPipeline::read(source, checks))
        .map_err(|invalid| invalid_pipeline(&invalid))?;
    let selection = StepSelection::from(std::mem::take(&mut submitted.selection));
    let selected = valid.select(&selection);
    let selected = selected.map_err(|error| ApiError::bad_request(error.to_string()))?;
    let workspace = submitted.snapshot.as_deref().map(snapshot).transpose()?;
    let inputs = ExpandInputs { name, params: &params, workspace: workspace.as_ref() };
    let expanded = selected.plan(inputs);
    let expanded = expanded.map_err(|invalid| invalid_pipeline(&invalid))?;
    with_options(submitted, expanded)
}

fn snapshot(object: &str) -> Result<WorkspaceSource, ApiError> {
    let parsed = ObjectId::parse(object).map(WorkspaceSource::Snapshot);
    parsed.ok_or_else(|| {
        ApiError::bad_request(
            "`snapshot` is not the name of an object: 64 hexadecimal digits in lower case",
        )
    })
}

fn with_options(
    submitted: SubmitRunBody,
    expanded: ExpandedPipeline,
) -> Result<PlannedSubmission, ApiError> {
    let ours = expanded.plan.fingerprint().to_string();
    if let Some(theirs) = submitted.fingerprint.filter(|theirs| *theirs != ours) {
        let detail = format!(
            "the client made plan {theirs} of this file, this controller makes {ours}: use the same release on both sides"
        );
        return Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "other_plan", detail));
    }
    let options = RunOptions {
        root: None,
        keep_going: submitted.keep_going,
        unplaceable: UnplaceablePolicy::Wait,
        timeout: submitted.timeout_ms.map(Span::millis).or(expanded.timeout),
        owner: None,
        parent: None,
    };
    let plan = Arc::new(expanded.plan.with_idempotency_ignored(submitted.again));
    Ok(PlannedSubmission { plan, options, reused: Vec::new() })
}

/// The params as texts.
fn params(given: &BTreeMap<String, ParamValue>) -> Result<BTreeMap<String, String>, ApiError> {
    let text = |(name, value): (&String, &ParamValue)| match value.text() {
        Some(text) => Ok((name.clone(), text)),
        None => {
            Err(ApiError::bad_request(format!("param `{name}` is no text, number, true or false")))
        }
    };
    given.iter().map(text).collect()
}

fn invalid_pipeline(invalid: &InvalidPipeline) -> ApiError {
    let InvalidPipeline { source, problems, only_params_are_wrong } = invalid;
    let code = if *only_params_are_wrong { "bad_params" } else { "bad_pipeline" };
    let worst = problems.iter().find(|problem| problem.severity == ProblemSeverity::Error);
    let first = worst.map_or_else(String::new, |problem| {
        let line = source.line_column(problem.span.start).line;
        format!("line {line} of {}: {} ({})", source.name(), problem.title, problem.code)
    });
    let list = problems.iter().map(|problem| problem.json_form(source)).collect();
    ApiError::invalid_pipeline(code, first, list)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_short_texts_without_multipliers_are_planned_on_the_receiving_thread() {
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
