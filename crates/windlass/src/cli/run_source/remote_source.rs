//! A controller's runs, over its API.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use windlass_core::engine::CancelLevel;
use windlass_core::id::{RunId, StepIx, WorkerId};
use windlass_core::json_form::AsWord;
use windlass_core::report::WhyReport;
use windlass_core::summary::RunSummary;
use windlass_link::http::{
    CancelRunBody, EVENTS_TYPE, EventsPage, LOG_SIZE_HEADER, LogEntryBody, LogSearchBody,
    LogSearchLineBody, StepSummaryBody, StepTestsBody,
};
use windlass_net::http::HttpRequest;
use windlass_store::archive::RunQuery;
use windlass_store::journal::Position;
use windlass_store::logs::{LogId, LogMatch, LogMatches, LogPart, MATCHES_MAX};
use windlass_store::objects::ObjectStore;

use super::cluster_client::{ClusterClient, moment_of, segment};
use super::source::{KnownRun, RunEventsPage, RunListEntry, RunSource, RunSourceFuture};
use crate::cli::error::CliError;
use crate::cli::output::CommandHints;
use crate::cli::step_summaries::StepSummaries;
use crate::cli::step_tests::StepTestReports;
use crate::embedded::system_now;

/// How long to wait for a controller that does not answer: it may be restarting.
const PATIENCE: Duration = Duration::from_mins(1);

/// The longest that a controller waits before it returns an empty answer.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// Events or runs per request.
const PAGE: usize = 4_096;
const RUNS_PAGE: usize = 100;

/// The runs of a cluster.
#[derive(Debug)]
pub(crate) struct RemoteRunSource {
    controller: ClusterClient,
}

/// The requested events.
#[derive(Clone, Copy, Debug)]
struct RemoteEventsQuery {
    after: Position,
    wait: Duration,
    most: usize,
}

impl RemoteRunSource {
    /// The runs of this controller's cluster.
    pub(crate) const fn new(controller: ClusterClient) -> Self {
        Self { controller }
    }

    /// The client, for other requests.
    pub(crate) fn into_controller(self) -> ClusterClient {
        self.controller
    }

    async fn runs(&self, query: &RunQuery) -> Result<Vec<Value>, CliError> {
        let pipeline = query.pipeline.as_ref();
        let pipeline = pipeline.map(|it| format!("&pipeline={}", segment(it))).unwrap_or_default();
        let status = query.status.map(|status| format!("&status={status}")).unwrap_or_default();
        let mut runs: Vec<Value> = Vec::new();
        while runs.len() < query.most {
            let most = (query.most - runs.len()).min(RUNS_PAGE);
            let last = runs.last().and_then(|run| run["id"].as_str());
            let before = last.map(|run| format!("&before={}", segment(run))).unwrap_or_default();
            let path = format!("/runs?limit={most}{pipeline}{status}{before}");
            let page: Vec<Value> = self.controller.get(&path).await?;
            let is_last = page.len() < most;
            runs.extend(page);
            if is_last {
                break;
            }
        }
        Ok(runs)
    }

    /// Events after a position, and whether more exist already.
    async fn events(
        &self,
        run: RunId,
        behind: RemoteEventsQuery,
    ) -> Result<(RunEventsPage, bool), CliError> {
        let RemoteEventsQuery { after, wait, most } = behind;
        let wait = wait.min(WAIT_MAX);
        let (after, ms) = (after.0, wait.as_millis());
        let path = format!("/runs/{run}/events?after={after}&wait_ms={ms}&limit={most}");
        let headers = [("accept", EVENTS_TYPE)];
        let ask = HttpRequest::get(self.controller.address(), &path).with(&headers);
        let answered = self.controller.call(ask, wait).await?;
        let page = EventsPage::decode(&answered.body);
        let read = page.and_then(|page| Ok((page.unpack()?, page)));
        let (events, page) = read.map_err(|error| self.controller.unexpected_answer(&error))?;
        let upto = events.last().map_or(Position(after), |last| last.position);
        let workers = page.workers.into_iter().map(|(id, name)| (WorkerId(id), name)).collect();
        let slots = page.slots.into_iter().map(|(id, slots, since)| (WorkerId(id), slots, since));
        Ok((RunEventsPage { workers, slots: slots.collect(), events, upto }, page.more))
    }

    /// A run at its submission.
    pub(crate) async fn submitted_run(&self, run: RunId) -> Result<KnownRun, CliError> {
        let first = RemoteEventsQuery { after: Position(0), wait: Duration::ZERO, most: 1 };
        let (page, _) = self.events(run, first).await?;
        let event = page.events.first();
        let summary = event.and_then(|it| RunSummary::from_submitted(it.at, &it.event));
        let no_submission = || self.controller.unexpected_answer("a run without a submission");
        Ok(KnownRun {
            summary: summary.ok_or_else(no_submission)?,
            position: page.upto,
            interrupted: false,
        })
    }

    async fn fetch_run(&self, run: RunId) -> Result<KnownRun, CliError> {
        let KnownRun { mut summary, mut position, interrupted } = self.submitted_run(run).await?;
        loop {
            let next = RemoteEventsQuery { after: position, wait: Duration::ZERO, most: PAGE };
            let (page, more) = self.events(run, next).await?;
            page.apply_to(&mut summary);
            position = page.upto;
            if !more {
                return Ok(KnownRun { summary, position, interrupted });
            }
        }
    }

    /// A run in a list with all details that its store would have: they are in its events.
    async fn with_details(&self, json: Value) -> Result<RunListEntry, CliError> {
        let run = json["id"].as_str().and_then(RunId::parse);
        let run = run.ok_or_else(|| self.controller.unexpected_answer("a run without an id"))?;
        let known = self.fetch_run(run).await?;
        let took = known.summary.wall_time(known.now());
        Ok(RunListEntry { json: known.to_json(), took, interrupted: false })
    }

    async fn log(&self, log: LogId, from: u64, wait: Duration) -> Result<LogPart, CliError> {
        let wait = wait.min(WAIT_MAX);
        let LogId { run, step, attempt, delivery, stream: _ } = log;
        let (step, ms) = (step.0, wait.as_millis());
        let path = format!("/runs/{run}/logs/{step}/{attempt}/{delivery}?from={from}&wait_ms={ms}");
        let ask = HttpRequest::get(self.controller.address(), &path);
        let answered = self.controller.call(ask, wait).await?;
        let bytes = answered.body.to_vec();
        let size = answered.headers.get(LOG_SIZE_HEADER).and_then(|size| size.to_str().ok());
        let size = size.and_then(|size| size.parse().ok());
        let size = size.unwrap_or(from + bytes.len() as u64);
        Ok(LogPart { from: from.min(size), bytes, size })
    }
}

fn listed(mut json: Value) -> RunListEntry {
    json["interrupted"] = false.into();
    let now = system_now();
    let began = moment_of(&json["created_at"]).unwrap_or(now);
    let took = moment_of(&json["ended_at"]).unwrap_or(now).since(began);
    RunListEntry { json, took, interrupted: false }
}

impl RunSource for RemoteRunSource {
    fn runs(&self, query: RunQuery, machines: bool) -> RunSourceFuture<'_, Vec<RunListEntry>> {
        Box::pin(async move {
            let mut runs = Vec::new();
            for run in Self::runs(self, &query).await? {
                runs.push(if machines { self.with_details(run).await? } else { listed(run) });
            }
            Ok(runs)
        })
    }

    fn find<'a>(&'a self, text: &'a str) -> RunSourceFuture<'a, RunId> {
        Box::pin(async move {
            // The answer leaves out its steps: there may be thousands.
            let path = format!("/runs/{}?from={}", segment(text), u32::MAX);
            let run: Value = self.controller.get(&path).await?;
            let id = run["id"].as_str().and_then(RunId::parse);
            id.ok_or_else(|| self.controller.unexpected_answer("a run without an id"))
        })
    }

    fn load_run(&self, run: RunId) -> RunSourceFuture<'_, KnownRun> {
        Box::pin(Self::fetch_run(self, run))
    }

    fn next_events(
        &self,
        run: RunId,
        after: Position,
        wait: Duration,
    ) -> RunSourceFuture<'_, RunEventsPage> {
        let behind = RemoteEventsQuery { after, wait, most: PAGE };
        Box::pin(async move { Ok(self.events(run, behind).await?.0) })
    }

    fn logs(&self, run: RunId) -> RunSourceFuture<'_, Vec<(LogId, u64)>> {
        Box::pin(async move {
            let path = format!("/runs/{run}/logs");
            let logs: Vec<LogEntryBody> = self.controller.get(&path).await?;
            Ok(logs.into_iter().map(|entry| (entry.log(run), entry.size)).collect())
        })
    }

    fn log(&self, log: LogId, from: u64, wait: Duration) -> RunSourceFuture<'_, LogPart> {
        Box::pin(Self::log(self, log, from, wait))
    }

    fn search(
        &self,
        run: RunId,
        step: Option<StepIx>,
        text: String,
    ) -> RunSourceFuture<'_, LogMatches> {
        Box::pin(async move {
            let step = step.map(|step| format!("&step={}", step.0)).unwrap_or_default();
            let text = segment(&text);
            let path = format!("/runs/{run}/logs/search?limit={MATCHES_MAX}&text={text}{step}");
            let found: LogSearchBody = self.controller.get(&path).await?;
            let hit = |it: LogSearchLineBody| {
                let LogSearchLineBody { step, attempt, delivery, line, at, text, .. } = it;
                let log = LogId::new(run, StepIx(step), attempt, delivery);
                LogMatch { log, line, at, text }
            };
            let list = found.lines.into_iter().map(hit).collect();
            Ok(LogMatches { list, bytes: found.bytes, cut: found.cut.map(|AsWord(cut)| cut) })
        })
    }

    fn why(&self, run: RunId, step: StepIx) -> RunSourceFuture<'_, Option<WhyReport>> {
        Box::pin(async move {
            let path = format!("/runs/{run}/steps/{}/why", step.0);
            self.controller.get(&path).await.map(Some)
        })
    }

    fn step_summaries(&self, run: RunId) -> RunSourceFuture<'_, StepSummaries> {
        Box::pin(async move {
            let path = format!("/runs/{run}/summaries");
            let summaries: Vec<StepSummaryBody> = self.controller.get(&path).await?;
            Ok(summaries.into_iter().map(|summary| (summary.log(run), summary.text)).collect())
        })
    }

    fn test_reports(&self, run: RunId) -> RunSourceFuture<'_, StepTestReports> {
        Box::pin(async move {
            let path = format!("/runs/{run}/tests");
            let reports: Vec<StepTestsBody> = self.controller.get(&path).await?;
            Ok(reports.into_iter().map(|body| (body.log(run), body.report)).collect())
        })
    }

    fn objects(&self) -> RunSourceFuture<'_, Arc<dyn ObjectStore>> {
        Box::pin(async move { Ok(self.controller.objects()) })
    }

    fn cancel(&self, run: RunId, level: CancelLevel) -> RunSourceFuture<'_, ()> {
        Box::pin(async move {
            let path = format!("/runs/{run}/cancel");
            let body = CancelRunBody { level: AsWord(level) };
            self.controller.post(&path, &body).await.map(drop)
        })
    }

    fn hints(&self) -> &CommandHints {
        self.controller.hints()
    }

    fn patience(&self) -> Duration {
        PATIENCE
    }
}
