//! `GET /runs`

use std::cmp::Reverse;
use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use serde::Deserialize;
use serde_json::{Value, json};
use windlass_core::id::RunId;
use windlass_core::outcome::RunStatus;
use windlass_core::report::UtcTime;
use windlass_core::time::Time;
use windlass_store::archive::{PAGE_MAX, RunQuery, RunRecord};

use super::pages;
use crate::api::api_error::ApiError;
use crate::api::extract::QueryParams;
use crate::api::router::Api;

/// Runs in a page whose asker did not say how many.
const PAGE: usize = 100;

/// Sealed runs that are looked at for one page; the next one goes on behind them. It takes a tenth of a second.
const LOOKED_AT_MAX: usize = 10_000;

/// Which runs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct RunListQuery {
    pipeline: Option<String>,
    status: Option<String>,
    since: Option<String>,
    until: Option<String>,
    text: Option<String>,
    before: Option<String>,
    limit: Option<usize>,
}

/// Runs that are open and sealed ones, in one order: the newest first. Ids grow, so pages stay what they are while runs
/// are added.
pub(in crate::api) async fn list(
    State(api): State<Arc<Api>>,
    uri: Uri,
    QueryParams(asked): QueryParams<RunListQuery>,
) -> Result<(HeaderMap, Answered<Vec<Value>>), ApiError> {
    let wanted = RunListFilter::read(asked)?;
    let sealed = wanted.sealed(&api).await?;
    // What is older than the last that was looked at belongs to a later page.
    let upto = sealed.looked_up_to.unwrap_or(RunId(0));
    let mut runs: Vec<RunListItem> =
        wanted.open(&api).into_iter().filter(|run| *run > upto).map(RunListItem::Open).collect();
    let is_open = |record: &RunRecord| runs.contains(&RunListItem::Open(record.run));
    // One that ended a moment ago may be in both.
    let sealed_only: Vec<RunRecord> =
        sealed.runs.into_iter().filter(|record| !is_open(record)).collect();
    runs.extend(sealed_only.into_iter().map(|record| RunListItem::Sealed(Box::new(record))));
    runs.sort_unstable_by_key(|found| Reverse(found.run()));
    let is_full = runs.len() > wanted.most;
    runs.truncate(wanted.most);
    let last = runs.last().map(RunListItem::run).filter(|_| is_full).or(sealed.looked_up_to);
    let next = last.map(|last| pages::next(&uri, "before", &last.to_string()));
    let shown = runs.into_iter().filter_map(|found| found.to_json(&api)).collect();
    Ok((next.unwrap_or_default(), Answered(shown)))
}

/// Which runs, understood.
struct RunListFilter {
    statuses: Vec<RunStatus>,
    until: Option<Time>,
    text: Option<String>,
    /// The rest, as the archive takes it.
    query: RunQuery,
    most: usize,
}

/// Sealed runs that were found.
struct SealedRunPage {
    runs: Vec<RunRecord>,
    /// The last that was looked at, if there may be more behind it that were not.
    looked_up_to: Option<RunId>,
}

/// A run of the page.
#[derive(PartialEq)]
enum RunListItem {
    Open(RunId),
    Sealed(Box<RunRecord>),
}

impl RunListFilter {
    fn read(asked: RunListQuery) -> Result<Self, ApiError> {
        let before = asked.before.map(|text| {
            let run = RunId::parse(&text);
            run.ok_or_else(|| ApiError::bad_request(format!("`before={text}` is no id of a run")))
        });
        let statuses = pages::words("status", asked.status.as_deref(), status)?;
        let status = if let [status] = statuses.as_slice() { Some(*status) } else { None };
        let most = asked.limit.unwrap_or(PAGE).clamp(1, PAGE_MAX);
        let since = moment("since", asked.since.as_deref())?;
        let query = RunQuery {
            before: before.transpose()?,
            pipeline: asked.pipeline,
            status,
            since,
            most: PAGE_MAX.min(most + 1),
        };
        let until = moment("until", asked.until.as_deref())?;
        Ok(Self { statuses, until, text: asked.text.map(|text| text.to_lowercase()), query, most })
    }

    /// What the archive does not look at.
    fn lets(&self, run: RunId, status: RunStatus, submitted_at: Time) -> bool {
        (self.statuses.is_empty() || self.statuses.contains(&status))
            && self.until.is_none_or(|until| submitted_at < until)
            && self.text.as_ref().is_none_or(|text| run.to_string().contains(text.as_str()))
    }

    fn open(&self, api: &Api) -> Vec<RunId> {
        let query = &self.query;
        let mut ids: Vec<RunId> = api.handle.views().look(|view| {
            let runs = view.engine.runs().filter(|run| {
                query.before.is_none_or(|before| run.id < before)
                    && query.pipeline.as_ref().is_none_or(|pipeline| run.pipeline() == pipeline)
                    && query.since.is_none_or(|since| run.submitted_at >= since)
                    && self.lets(run.id, run.status, run.submitted_at)
            });
            runs.map(|run| run.id).collect()
        });
        ids.sort_unstable_by_key(|run| Reverse(*run));
        ids.truncate(self.most + 1);
        ids
    }

    /// Looks through the archive until there is one more than a page has, or it has looked at many.
    async fn sealed(&self, api: &Api) -> Result<SealedRunPage, ApiError> {
        let mut found = SealedRunPage { runs: Vec::new(), looked_up_to: None };
        if !self.statuses.is_empty() && !self.statuses.iter().any(|status| status.is_terminal()) {
            return Ok(found);
        }
        if api.upstream.is_some() {
            // The archive is the leader's, which is away.
            let known = api.stores.histories.sealed_lately().into_iter();
            let before = |it: &RunRecord| self.query.before.is_none_or(|before| it.run < before);
            let fits = |it: &RunRecord| self.lets(it.run, it.status, it.submitted_at);
            let wanted = |it: &RunRecord| before(it) && self.query.selects(it) && fits(it);
            found.runs = known.filter(wanted).take(self.most + 1).collect();
            return Ok(found);
        }
        let mut query = self.query.clone();
        let mut looked_at = 0;
        loop {
            let page = api.stores.archive.runs(query.clone()).await?;
            let is_last = page.len() < query.most;
            looked_at += page.len();
            query.before = page.last().map(|record| record.run).or(query.before);
            let fits = |it: &RunRecord| self.lets(it.run, it.status, it.submitted_at);
            found.runs.extend(page.into_iter().filter(fits));
            if is_last || found.runs.len() > self.most {
                return Ok(found);
            }
            if looked_at >= LOOKED_AT_MAX {
                found.looked_up_to = query.before;
                return Ok(found);
            }
            // Few of them fit: the rest is looked for in large steps.
            query.most = PAGE_MAX;
        }
    }
}

fn status(word: &str) -> Option<RunStatus> {
    const ALL: [RunStatus; 5] = [
        RunStatus::Running,
        RunStatus::Cancelling,
        RunStatus::Succeeded,
        RunStatus::Failed,
        RunStatus::Cancelled,
    ];
    ALL.into_iter().find(|status| status.to_string() == word)
}

fn moment(key: &str, text: Option<&str>) -> Result<Option<Time>, ApiError> {
    let read = |text: &str| {
        let Some(UtcTime(at)) = UtcTime::parse(text) else {
            return Err(ApiError::bad_request(format!(
                "`{key}={text}` is no time in UTC, such as 2026-11-16T09:30:00Z"
            )));
        };
        Ok(at)
    };
    text.map(read).transpose()
}

impl RunListItem {
    fn run(&self) -> RunId {
        match self {
            Self::Open(run) => *run,
            Self::Sealed(record) => record.run,
        }
    }

    fn to_json(&self, api: &Api) -> Option<Value> {
        match self {
            // One look for each: counting the steps of all of them would keep the leader waiting.
            Self::Open(run) => open_json(api, *run),
            Self::Sealed(record) => Some(record.to_json()),
        }
    }
}

fn open_json(api: &Api, run: RunId) -> Option<Value> {
    let ended = api.stores.histories.record(run).filter(|record| record.status.is_terminal());
    let ended_at = ended.map(|record| UtcTime(record.ended_at).to_string());
    api.handle.views().look(|view| {
        let run = view.engine.run(run)?;
        Some(json!({
            "id": run.id.to_string(),
            "pipeline": run.pipeline(),
            "fingerprint": run.plan.fingerprint().to_string(),
            "status": run.status.to_string(),
            "created_at": UtcTime(run.submitted_at).to_string(),
            "ended_at": ended_at,
            "steps": run.plan.step_count(),
            "counts": run.counts(),
        }))
    })
}
