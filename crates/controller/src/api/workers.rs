//! `GET /workers`, `POST /workers/{id}/drain`, `GET /locks`, `GET /queue`

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use axum::Json as Answered;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::time::timeout;
use windlass_core::engine::{EngineCall, WorkerContacts, WorkerStatus};
use windlass_core::id::{RunId, WorkerId};
use windlass_core::json_form::{AsText, AsWord};
use windlass_core::report::{
    ClassReport, LockHolder, LockReport, PrincipalJson, UtcTime, WorkerContactStatus, WorkerReport,
};

use super::access::RequestPrincipal;
use super::api_error::ApiError;
use super::api_state::Api;
use super::extract::PathParams;
use super::id_body::IdBody;
use crate::{EngineView, SelfReport};

/// The time limit for the leader to report the contacts of workers.
const SILENT_WITHIN: Duration = Duration::from_secs(1);

/// A worker of the cluster.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Worker")]
pub(super) struct WorkerBody<'a> {
    /// The number of the worker.
    id: AsText<u64>,
    /// The name of the worker.
    name: Cow<'a, str>,
    /// `online`; `stale`: two of its exchanges are overdue; `draining`: it gets no more leases; `lost`: it sent nothing for a
    /// lease duration; `ended`.
    status: AsWord<WorkerContactStatus>,
    /// The labels that steps can require.
    labels: Vec<String>,
    /// The number of steps that it runs at a time.
    slots: u32,
    /// The number of leases that it holds.
    leases: u32,
    /// Since when it has this status.
    since: UtcTime,
    /// When this leader last heard from it.
    heard: Option<UtcTime>,
    /// The author of the request that enrolled it.
    enrolled_by: Option<PrincipalJson<'a>>,
    /// Its own report in its newest heartbeat. Only plain workers send one.
    reported: Option<SelfReportBody>,
    /// Whether its credential was revoked.
    revoked: bool,
}

/// The report of a worker about itself.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "WorkerReport")]
pub(super) struct SelfReportBody {
    /// When the heartbeat arrived.
    at: UtcTime,
    /// The status in the worker's own words.
    status: Option<String>,
    /// The metrics under the worker's own names.
    metrics: Map<String, Value>,
}

impl From<SelfReport> for SelfReportBody {
    fn from(report: SelfReport) -> Self {
        Self { at: UtcTime(report.at), status: report.status, metrics: report.metrics }
    }
}

impl<'a> WorkerBody<'a> {
    fn of(worker: WorkerReport<'a>, view: &'a EngineView, contacts: &WorkerContacts) -> Self {
        let credential = view.engine.keys().worker(worker.id);
        Self {
            id: AsText(worker.id.0),
            status: AsWord(worker.contact_status(&contacts.silent)),
            labels: worker.labels.iter().map(str::to_owned).collect(),
            slots: worker.slots,
            leases: worker.leases,
            since: UtcTime(worker.since),
            heard: contacts.last_contact(worker.id).map(UtcTime),
            enrolled_by: credential.map(|it| it.by.json_form()),
            reported: None,
            revoked: credential.is_some_and(|it| it.revoked.is_some()),
            name: worker.name,
        }
    }
}

/// Lists all known workers.
pub(super) async fn list(State(api): State<Arc<Api>>) -> Response {
    let contacts = contacts(&api).await;
    api.handle.views().with(|view| {
        let workers = view.engine.workers().map(|worker| {
            let reported = api.handle.self_reports().of(worker.id).map(SelfReportBody::from);
            WorkerBody { reported, ..WorkerBody::of(worker, view, &contacts) }
        });
        Answered(workers.collect::<Vec<_>>()).into_response()
    })
}

/// Asks the leader when it last heard from each worker. Without an answer in time the list has no contacts: while the
/// journal accepts no writes, registered workers can still be listed.
pub(super) async fn contacts(api: &Api) -> WorkerContacts {
    let contacts = timeout(SILENT_WITHIN, api.handle.call(EngineCall::contacts())).await;
    contacts.ok().and_then(Result::ok).unwrap_or_default()
}

/// A lock that an active run names.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Lock")]
pub(super) struct LockBody<'a> {
    /// The name of the lock.
    name: Cow<'a, str>,
    /// The number of leases that can hold it at a time.
    slots: u32,
    /// The leases that hold it, in the order in which they got it.
    holders: Vec<LockHolderBody<'a>>,
    /// The number of ready steps that want it.
    waiting: usize,
    /// Until when it is granted to no step, because grants that the store has lost may still run.
    embargo: Option<UtcTime>,
}

/// A lease that holds a lock.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "LockHolder")]
pub(super) struct LockHolderBody<'a> {
    /// The id of the run.
    run: AsText<RunId>,
    /// The index of the step in its plan.
    step: u32,
    /// The name of the step.
    name: Cow<'a, str>,
    /// The name of the worker.
    worker: Cow<'a, str>,
    /// The number of the lease.
    fence: u64,
    /// When the lease was granted, or last confirmed by a new leader.
    since: UtcTime,
}

impl<'a> From<LockReport<'a>> for LockBody<'a> {
    fn from(lock: LockReport<'a>) -> Self {
        Self {
            name: lock.name,
            slots: lock.slots,
            holders: lock.holders.into_iter().map(LockHolderBody::from).collect(),
            waiting: lock.waiting,
            embargo: lock.embargo.map(UtcTime),
        }
    }
}

impl<'a> From<LockHolder<'a>> for LockHolderBody<'a> {
    fn from(holder: LockHolder<'a>) -> Self {
        let LockHolder { run, step, name, worker, fence, since } = holder;
        let (run, since) = (AsText(run), UtcTime(since));
        Self { run, step: step.0, name, worker, fence: fence.0, since }
    }
}

/// Lists the locks that active runs name.
pub(super) async fn locks(State(api): State<Arc<Api>>) -> Response {
    api.handle.views().with(|view| {
        Answered(view.engine.locks().map(LockBody::from).collect::<Vec<_>>()).into_response()
    })
}

/// Ready steps with equal requirements.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "QueuedSteps")]
pub(super) struct QueueClassBody {
    /// The requirements of the steps on a worker, as text.
    requires: String,
    /// The number of the steps.
    ready: usize,
    /// The number of these that also wait for locks.
    locked: usize,
    /// Since when the step that waits longest has been ready.
    oldest: UtcTime,
    /// The number of online workers that can run them.
    workers: u32,
    /// The number of these workers that have a free slot.
    free: u32,
}

impl From<ClassReport> for QueueClassBody {
    fn from(class: ClassReport) -> Self {
        let ClassReport { requires, ready, locked, oldest, workers, free, .. } = class;
        Self { requires, ready, locked, oldest: UtcTime(oldest), workers, free }
    }
}

/// Lists ready steps by requirement.
pub(super) async fn queue(State(api): State<Arc<Api>>) -> Answered<Vec<QueueClassBody>> {
    let queue = api.handle.views().with(|view| view.engine.queue());
    Answered(queue.into_iter().map(QueueClassBody::from).collect())
}

/// Drains a worker: it gets no more leases.
pub(super) async fn drain(
    State(api): State<Arc<Api>>,
    PathParams(text): PathParams<String>,
    RequestPrincipal(by): RequestPrincipal,
) -> Result<Answered<IdBody<u64>>, ApiError> {
    let (worker, status) = find(&api, &text)?;
    if status == WorkerStatus::Ended {
        return Err(ApiError::conflict("refused", format!("worker `{text}` has ended")));
    }
    api.handle.call(EngineCall::drain(worker).by(by)).await??;
    Ok(Answered(IdBody::of(worker.0)))
}

/// Finds a worker by its name or number. Of several workers with one name it finds the live one.
pub(super) fn find(api: &Api, text: &str) -> Result<(WorkerId, WorkerStatus), ApiError> {
    let found = api.handle.views().with(|view| {
        let named = view.engine.workers().filter(|worker| worker.name == text);
        let newest = named.max_by_key(|worker| (is_live(worker.status), worker.since));
        let numbered = || {
            let id = WorkerId(text.parse().ok()?);
            view.engine.workers().find(|worker| worker.id == id)
        };
        newest.or_else(numbered).map(|worker| (worker.id, worker.status))
    });
    found.ok_or_else(|| {
        let detail = format!("there is no worker `{text}`: GET /workers lists them");
        ApiError::new(StatusCode::NOT_FOUND, "no_such_worker", detail)
    })
}

const fn is_live(status: WorkerStatus) -> bool {
    !matches!(status, WorkerStatus::Lost | WorkerStatus::Ended)
}
