//! `GET /runs`

use std::cmp::Reverse;
use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use schemars::JsonSchema;
use serde::Deserialize;
use windlass_core::id::RunId;
use windlass_core::json_form::AsText;
use windlass_core::outcome::RunStatus;
use windlass_core::report::UtcTime;
use windlass_core::time::Time;
use windlass_store::archive::{PAGE_MAX, RunQuery, RunRecord};

use super::listed_run::{ListedRunBody, RunListItem};
use super::pages;
use crate::api::api_error::ApiError;
use crate::api::api_state::Api;
use crate::api::comma_list::CommaList;
use crate::api::extract::QueryParams;

/// The default of `limit`.
const PAGE: usize = 100;

/// The most sealed runs that are searched for one page; the next page continues there. It takes a tenth of a second.
const LOOKED_AT_MAX: usize = 10_000;

/// The parameters of a list of runs.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct RunListQuery {
    /// Return only runs of this pipeline.
    pipeline: Option<String>,
    /// Return only runs with one of these statuses, separated by commas.
    #[serde(default)]
    status: CommaList<RunStatus>,
    /// Return only runs submitted at this time or later.
    since: Option<UtcTime>,
    /// Return only runs submitted before this time.
    until: Option<UtcTime>,
    /// Return only runs whose id contains this text.
    text: Option<String>,
    /// The id of the last run on the previous page.
    before: Option<AsText<RunId>>,
    /// The number of runs to return (default: 100; at most 1,000).
    limit: Option<usize>,
}

/// Lists open and sealed runs in one order, newest first. Ids grow, so earlier pages do not change while runs are added.
pub(in crate::api) async fn list(
    State(api): State<Arc<Api>>,
    uri: Uri,
    QueryParams(query): QueryParams<RunListQuery>,
) -> Result<(HeaderMap, Answered<Vec<ListedRunBody>>), ApiError> {
    let wanted = RunListFilter::of(query);
    let sealed = wanted.sealed(&api).await?;
    // Runs older than the last that was searched belong to a later page.
    let upto = sealed.looked_up_to.unwrap_or(RunId(0));
    let mut runs: Vec<RunListItem> =
        wanted.open(&api).into_iter().filter(|run| *run > upto).map(RunListItem::Open).collect();
    let is_open = |record: &RunRecord| runs.contains(&RunListItem::Open(record.run));
    // A run that ended a moment ago may be in both lists.
    let sealed_only: Vec<RunRecord> =
        sealed.runs.into_iter().filter(|record| !is_open(record)).collect();
    runs.extend(sealed_only.into_iter().map(|record| RunListItem::Sealed(Box::new(record))));
    runs.sort_unstable_by_key(|found| Reverse(found.run()));
    let is_full = runs.len() > wanted.most;
    runs.truncate(wanted.most);
    let last = runs.last().map(RunListItem::run).filter(|_| is_full).or(sealed.looked_up_to);
    let next = last.map(|last| pages::next(&uri, "before", &last.to_string()));
    let shown = runs.into_iter().filter_map(|found| found.body(&api)).collect();
    Ok((next.unwrap_or_default(), Answered(shown)))
}

/// The filters of a list of runs.
struct RunListFilter {
    statuses: CommaList<RunStatus>,
    until: Option<Time>,
    text: Option<String>,
    /// The filters that the archive applies.
    query: RunQuery,
    most: usize,
}

/// Sealed runs that match.
struct SealedRunPage {
    runs: Vec<RunRecord>,
    /// The last run that was searched, if there may be more behind it.
    looked_up_to: Option<RunId>,
}

impl RunListFilter {
    fn of(given: RunListQuery) -> Self {
        let most = given.limit.unwrap_or(PAGE).clamp(1, PAGE_MAX);
        let query = RunQuery {
            before: given.before.map(|AsText(run)| run),
            pipeline: given.pipeline,
            status: if let [status] = given.status.values() { Some(*status) } else { None },
            since: given.since.map(|UtcTime(at)| at),
            most: PAGE_MAX.min(most + 1),
        };
        let until = given.until.map(|UtcTime(at)| at);
        let text = given.text.map(|text| text.to_lowercase());
        Self { statuses: given.status, until, text, query, most }
    }

    /// Applies the filters that the archive does not know.
    fn lets(&self, run: RunId, status: RunStatus, submitted_at: Time) -> bool {
        self.statuses.selects(status)
            && self.until.is_none_or(|until| submitted_at < until)
            && self.text.as_ref().is_none_or(|text| run.to_string().contains(text.as_str()))
    }

    fn open(&self, api: &Api) -> Vec<RunId> {
        let query = &self.query;
        let mut ids: Vec<RunId> = api.handle.views().with(|view| {
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

    /// Searches the archive until one run more than a page is found, or the limit of searched runs is reached.
    async fn sealed(&self, api: &Api) -> Result<SealedRunPage, ApiError> {
        let mut found = SealedRunPage { runs: Vec::new(), looked_up_to: None };
        let is_terminal = |status: &RunStatus| status.is_terminal();
        if !RunStatus::ALL.into_iter().filter(is_terminal).any(|it| self.statuses.selects(it)) {
            return Ok(found);
        }
        if api.upstream.is_some() {
            // This replica cannot reach the leader, which has the archive.
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
            // Few runs match: continue with large pages.
            query.most = PAGE_MAX;
        }
    }
}
