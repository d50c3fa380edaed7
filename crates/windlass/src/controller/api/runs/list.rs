//! `GET /runs`

use std::cmp::Reverse;
use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};
use windlass_core::engine::Utc;
use windlass_core::id::RunId;
use windlass_core::outcome::RunStatus;

use crate::archive::{PAGE_MAX, RunQuery, RunRecord};
use crate::controller::api::input::Query;
use crate::controller::api::refused::Refused;
use crate::controller::api::router::Api;

/// Runs in a page whose asker did not say how many.
const PAGE: usize = 100;

/// Which runs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::controller::api) struct Asked {
    pipeline: Option<String>,
    status: Option<Status>,
    before: Option<String>,
    limit: Option<usize>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Running,
    Cancelling,
    Succeeded,
    Failed,
    Cancelled,
}

/// Runs that are open and sealed ones, in one order: the newest first.
pub(in crate::controller::api) async fn list(
    State(api): State<Arc<Api>>,
    Query(asked): Query<Asked>,
) -> Result<Answered<Vec<Value>>, Refused> {
    let query = asked.query()?;
    let open = open_runs(&api, &query);
    let sealed = sealed_runs(&api, &query).await?;
    let known: Vec<RunId> = open.iter().map(|(run, _)| *run).collect();
    // One that ended a moment ago may be in both.
    let sealed = sealed.into_iter().filter(|record| !known.contains(&record.run));
    let sealed = sealed.map(|record| (record.run, record.to_json()));
    let mut runs: Vec<(RunId, Value)> = open.into_iter().chain(sealed).collect();
    runs.sort_unstable_by_key(|(run, _)| Reverse(*run));
    runs.truncate(query.most);
    Ok(Answered(runs.into_iter().map(|(_, run)| run).collect()))
}

impl Asked {
    fn query(self) -> Result<RunQuery, Refused> {
        let before = match self.before {
            None => None,
            Some(text) => match RunId::parse(&text) {
                Some(run) => Some(run),
                None => return Err(Refused::bad(format!("`before={text}` is no id of a run"))),
            },
        };
        Ok(RunQuery {
            before,
            pipeline: self.pipeline,
            status: self.status.map(Into::into),
            since: None,
            most: self.limit.unwrap_or(PAGE).clamp(1, PAGE_MAX),
        })
    }
}

fn open_runs(api: &Api, query: &RunQuery) -> Vec<(RunId, Value)> {
    let mut ids: Vec<RunId> = api.handle.views().look(|view| {
        let runs = view.engine.runs().filter(|run| {
            query.before.is_none_or(|before| run.id < before)
                && query.pipeline.as_ref().is_none_or(|pipeline| run.pipeline() == pipeline)
                && query.status.is_none_or(|status| run.status == status)
        });
        runs.map(|run| run.id).collect()
    });
    ids.sort_unstable_by_key(|run| Reverse(*run));
    ids.truncate(query.most);
    // One look for each: counting the steps of all of them would keep the leader waiting.
    ids.into_iter().filter_map(|run| Some((run, open_json(api, run)?))).collect()
}

fn open_json(api: &Api, run: RunId) -> Option<Value> {
    let ended = api.kept.histories.record(run).filter(|record| record.status.is_terminal());
    let ended_at = ended.map(|record| Utc(record.ended_at).to_string());
    api.handle.views().look(|view| {
        let run = view.engine.run(run)?;
        Some(json!({
            "id": run.id.to_string(),
            "pipeline": run.pipeline(),
            "fingerprint": run.plan.fingerprint().to_string(),
            "status": run.status.to_string(),
            "created_at": Utc(run.submitted_at).to_string(),
            "ended_at": ended_at,
            "steps": run.plan.step_count(),
            "counts": run.counts(),
        }))
    })
}

async fn sealed_runs(api: &Api, query: &RunQuery) -> Result<Vec<RunRecord>, Refused> {
    if query.status.is_some_and(|status| !status.is_terminal()) {
        return Ok(Vec::new());
    }
    Ok(api.kept.archive.runs(query.clone()).await?)
}

impl From<Status> for RunStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Running => Self::Running,
            Status::Cancelling => Self::Cancelling,
            Status::Succeeded => Self::Succeeded,
            Status::Failed => Self::Failed,
            Status::Cancelled => Self::Cancelled,
        }
    }
}
