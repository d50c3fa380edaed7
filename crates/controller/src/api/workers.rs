//! `GET /workers`, `POST /workers/{id}/drain`, `GET /locks`, `GET /queue`

use std::sync::Arc;
use std::time::Duration;

use axum::Json as Answered;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};
use tokio::time::timeout;
use windlass_core::engine::{EngineAnswer, EngineRequest, WorkerContacts, WorkerStatus};
use windlass_core::id::WorkerId;
use windlass_core::report::{ClassReport, LockHolder, LockReport, UtcTime, WorkerReport};

use super::access::RequestPrincipal;
use super::api_error::ApiError;
use super::extract::PathParams;
use super::router::Api;
use crate::SelfReport;

/// How long the leader may take to say who is silent.
const SILENT_WITHIN: Duration = Duration::from_secs(1);

/// Every worker that is known.
pub(super) async fn list(State(api): State<Arc<Api>>) -> Answered<Value> {
    let contacts = contacts(&api).await;
    Answered(api.handle.views().look(|view| {
        let shown = |worker: WorkerReport<'_>| {
            let mut shown = worker_json(&worker, &contacts);
            let enrolment = view.engine.keys().worker(worker.id);
            shown["enrolled_by"] = enrolment.map(|it| it.by.to_json()).into();
            let report = api.handle.self_reports().of(worker.id);
            shown["reported"] = report.map(|report| report_json(&report)).into();
            shown["revoked"] = enrolment.is_some_and(|it| it.revoked.is_some()).into();
            shown
        };
        view.engine.workers().map(shown).collect()
    }))
}

/// When workers were heard. A leader that cannot say is not waited for: while nothing becomes durable, who is registered
/// can be told all the same.
pub(super) async fn contacts(api: &Api) -> WorkerContacts {
    match timeout(SILENT_WITHIN, api.handle.ask(EngineRequest::Contacts)).await {
        Ok(Ok(EngineAnswer::Contacts(contacts))) => contacts,
        _ => WorkerContacts::default(),
    }
}

fn worker_json(worker: &WorkerReport<'_>, contacts: &WorkerContacts) -> Value {
    json!({
        "id": worker.id.0.to_string(),
        "name": worker.name,
        "status": worker.contact_status(&contacts.silent).to_string(),
        "labels": worker.labels,
        "slots": worker.slots,
        "leases": worker.leases,
        "since": UtcTime(worker.since).to_string(),
        "heard": contacts.last_contact(worker.id).map(|at| UtcTime(at).to_string()),
    })
}

fn report_json(report: &SelfReport) -> Value {
    json!({ "at": UtcTime(report.at).to_string(), "status": report.status, "metrics": report.metrics })
}

/// Every lock that an active run names.
pub(super) async fn locks(State(api): State<Arc<Api>>) -> Answered<Value> {
    Answered(api.handle.views().look(|view| view.engine.locks().map(lock_json).collect()))
}

fn lock_json(lock: LockReport<'_>) -> Value {
    let holder = |holder: LockHolder<'_>| {
        json!({
            "run": holder.run.to_string(),
            "step": holder.step.0,
            "name": holder.name,
            "worker": holder.worker,
            "fence": holder.fence,
            "since": UtcTime(holder.since).to_string(),
        })
    };
    json!({
        "name": lock.name,
        "slots": lock.slots,
        "holders": lock.holders.into_iter().map(holder).collect::<Vec<Value>>(),
        "waiting": lock.waiting,
        "embargo": lock.embargo.map(|until| UtcTime(until).to_string()),
    })
}

/// What is ready and waits, by requirement.
pub(super) async fn queue(State(api): State<Arc<Api>>) -> Answered<Value> {
    let queue = api.handle.views().look(|view| view.engine.queue());
    Answered(queue.iter().map(class_json).collect())
}

fn class_json(class: &ClassReport) -> Value {
    json!({
        "requires": class.requires,
        "ready": class.ready,
        "locked": class.locked,
        "oldest": UtcTime(class.oldest).to_string(),
        "workers": class.workers,
        "free": class.free,
    })
}

/// Gives a worker no more leases.
pub(super) async fn drain(
    State(api): State<Arc<Api>>,
    PathParams(text): PathParams<String>,
    RequestPrincipal(by): RequestPrincipal,
) -> Result<Answered<Value>, ApiError> {
    let (worker, status) = find(&api, &text)?;
    if status == WorkerStatus::Ended {
        return Err(ApiError::conflict("refused", format!("worker `{text}` has ended")));
    }
    match api.handle.ask(EngineRequest::Drain { worker }.by(by)).await? {
        EngineAnswer::Done => Ok(Answered(json!({ "id": worker.0.to_string() }))),
        EngineAnswer::Denied(denial) => Err(denial.into()),
        other => unreachable!("a worker is drained or not, not {other:?}"),
    }
}

/// The worker that somebody means: a name, or a number. Of several of one name the live one is meant.
pub(super) fn find(api: &Api, text: &str) -> Result<(WorkerId, WorkerStatus), ApiError> {
    let found = api.handle.views().look(|view| {
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
