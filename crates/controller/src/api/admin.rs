//! `POST /workers/{id}/revoke` and `POST /locks/{name}/release`: what an operator does against somebody's will.

use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};
use windlass_core::engine::{EngineAnswer, EngineRequest};
use windlass_core::id::{Fence, WorkerId};

use super::access::RequestPrincipal;
use super::api_error::ApiError;
use super::extract::{self, BodyBytes, PathParams};
use super::router::Api;
use super::workers;

/// Ends a worker's credential. What it holds ends by time, as with any worker that is not heard.
pub(super) async fn revoke(
    State(api): State<Arc<Api>>,
    PathParams(text): PathParams<String>,
    RequestPrincipal(by): RequestPrincipal,
) -> Result<Answered<Value>, ApiError> {
    let worker = match workers::find(&api, &text) {
        Ok((worker, _)) => worker,
        Err(refused) => enrolled(&api, &text).ok_or(refused)?,
    };
    match api.handle.ask(EngineRequest::RevokeWorker { worker }.by(by)).await? {
        EngineAnswer::Done => Ok(Answered(json!({ "id": worker.0.to_string() }))),
        EngineAnswer::Denied(denial) => Err(denial.into()),
        other => unreachable!("a worker is revoked or not, not {other:?}"),
    }
}

/// A worker that is not here now and could come back: by its number, or the newest of that name.
fn enrolled(api: &Api, text: &str) -> Option<WorkerId> {
    api.handle.views().look(|view| {
        let numbered = text.parse().ok().map(WorkerId);
        let known = numbered.filter(|id| view.engine.keys().worker(*id).is_some());
        let named = view.engine.keys().workers().filter(|(_, it)| &*it.name == text);
        let named = named.filter(|(_, it)| it.revoked.is_none());
        known.or_else(|| named.max_by_key(|(_, it)| it.since).map(|(id, _)| id))
    })
}

/// From whom a lock is to be taken.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ReleaseLockBody {
    fence: Option<Fence>,
}

/// Takes a lock away from a lease that holds it; the step goes on, without what it relied on.
pub(super) async fn release(
    State(api): State<Arc<Api>>,
    PathParams(lock): PathParams<String>,
    RequestPrincipal(by): RequestPrincipal,
    BodyBytes(body): BodyBytes,
) -> Result<Answered<Value>, ApiError> {
    let asked: ReleaseLockBody =
        if body.is_empty() { ReleaseLockBody::default() } else { extract::json(&body)? };
    let fence = match asked.fence {
        Some(fence) => fence,
        None => only_holder(&api, &lock)?,
    };
    let name: Box<str> = lock.as_str().into();
    match api.handle.ask(EngineRequest::ForceRelease { lock: name, fence }.by(by)).await? {
        EngineAnswer::Done => Ok(Answered(json!({ "lock": lock, "fence": fence.0 }))),
        EngineAnswer::Denied(denial) => Err(denial.into()),
        other => unreachable!("a lock is taken away or not, not {other:?}"),
    }
}

/// Who holds it, where that is one.
fn only_holder(api: &Api, lock: &str) -> Result<Fence, ApiError> {
    let holders: Option<Vec<Fence>> = api.handle.views().look(|view| {
        let found = view.engine.locks().find(|known| known.name == lock)?;
        Some(found.holders.iter().map(|holder| holder.fence).collect())
    });
    match holders.as_deref() {
        Some([fence]) => Ok(*fence),
        None | Some([]) => {
            Err(ApiError::conflict("lock_not_held", format!("nobody holds a lock `{lock}`")))
        }
        Some(several) => {
            let list: Vec<String> = several.iter().map(|fence| fence.0.to_string()).collect();
            let detail =
                format!("lock `{lock}` has holders {}: say which `fence`", list.join(", "));
            Err(ApiError::bad_request(detail))
        }
    }
}
