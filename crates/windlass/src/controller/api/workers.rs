//! `GET /workers`, `POST /workers/{id}/drain`, `GET /locks`

use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};
use windlass_core::engine::{Answer, Request, WorkerStatus};
use windlass_core::id::WorkerId;

use super::input::Path;
use super::refused::Refused;
use super::router::Api;

/// Every worker that is known.
pub(super) async fn list(State(api): State<Arc<Api>>) -> Answered<Value> {
    let workers = api.handle.views().look(|view| view.engine.workers().map(to_json).collect());
    Answered(workers)
}

/// Every lock that an active run names.
pub(super) async fn locks(State(api): State<Arc<Api>>) -> Answered<Value> {
    Answered(api.handle.views().look(|view| view.engine.locks().map(to_json).collect()))
}

/// Gives a worker no more leases.
pub(super) async fn drain(
    State(api): State<Arc<Api>>,
    Path(text): Path<String>,
) -> Result<Answered<Value>, Refused> {
    let worker = find(&api, &text)?;
    match api.handle.ask(Request::Drain { worker }).await? {
        Answer::Done => Ok(Answered(json!({ "id": worker.0 }))),
        Answer::Denied(denial) => Err(denial.into()),
        other => unreachable!("a worker is drained or not, not {other:?}"),
    }
}

/// The worker that somebody means: a name, or a number. Of several of one name the live one is meant.
fn find(api: &Api, text: &str) -> Result<WorkerId, Refused> {
    let found = api.handle.views().look(|view| {
        let named = view.engine.workers().filter(|worker| worker.name == text);
        let newest = named.max_by_key(|worker| (is_live(worker.status), worker.since));
        let numbered = || {
            let id = WorkerId(text.parse().ok()?);
            view.engine.workers().find(|worker| worker.id == id)
        };
        newest.or_else(numbered).map(|worker| worker.id)
    });
    found.ok_or_else(|| {
        let detail = format!("there is no worker `{text}`: GET /workers lists them");
        Refused::new(StatusCode::NOT_FOUND, "no_such_worker", detail)
    })
}

const fn is_live(status: WorkerStatus) -> bool {
    !matches!(status, WorkerStatus::Lost | WorkerStatus::Ended)
}

fn to_json(report: impl serde::Serialize) -> Value {
    serde_json::to_value(report).expect("reports are plain data")
}
