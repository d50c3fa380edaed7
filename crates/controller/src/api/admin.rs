//! `POST /workers/{id}/revoke` and `POST /locks/{name}/release`: interventions of an operator.

use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use windlass_core::engine::EngineCall;
use windlass_core::id::{Fence, WorkerId};
use windlass_link::http::{ReleaseLockBody, ReleasedLockBody};

use super::access::RequestPrincipal;
use super::api_error::ApiError;
use super::api_state::Api;
use super::extract::{OptionalBody, PathParams};
use super::id_body::IdBody;
use super::workers;

/// Revokes the credential of a worker. Its leases expire, as those of any worker that sends nothing.
pub(super) async fn revoke(
    State(api): State<Arc<Api>>,
    PathParams(text): PathParams<String>,
    RequestPrincipal(by): RequestPrincipal,
) -> Result<Answered<IdBody<u64>>, ApiError> {
    let worker = match workers::find(&api, &text) {
        Ok((worker, _)) => worker,
        Err(refused) => enrolled(&api, &text).ok_or(refused)?,
    };
    api.handle.call(EngineCall::revoke_worker(worker).by(by)).await??;
    Ok(Answered(IdBody::of(worker.0)))
}

/// Finds an enrolled worker that is not connected: by its number, or the newest with that name.
fn enrolled(api: &Api, text: &str) -> Option<WorkerId> {
    api.handle.views().with(|view| {
        let numbered = text.parse().ok().map(WorkerId);
        let known = numbered.filter(|id| view.engine.keys().worker(*id).is_some());
        let named = view.engine.keys().workers().filter(|(_, it)| &*it.name == text);
        let named = named.filter(|(_, it)| it.revoked.is_none());
        known.or_else(|| named.max_by_key(|(_, it)| it.since).map(|(id, _)| id))
    })
}

/// Releases the lock of a lease by force. The step continues without the protection of the lock.
pub(super) async fn release(
    State(api): State<Arc<Api>>,
    PathParams(lock): PathParams<String>,
    RequestPrincipal(by): RequestPrincipal,
    OptionalBody(body): OptionalBody<ReleaseLockBody>,
) -> Result<Answered<ReleasedLockBody>, ApiError> {
    let fence = match body.fence {
        Some(fence) => Fence(fence),
        None => only_holder(&api, &lock)?,
    };
    let name: Box<str> = lock.as_str().into();
    api.handle.call(EngineCall::force_release(name, fence).by(by)).await??;
    Ok(Answered(ReleasedLockBody { lock, fence: fence.0 }))
}

/// The only holder of a lock.
fn only_holder(api: &Api, lock: &str) -> Result<Fence, ApiError> {
    let holders: Option<Vec<Fence>> = api.handle.views().with(|view| {
        let found = view.engine.locks().find(|known| known.name == lock)?;
        Some(found.holders.iter().map(|holder| holder.fence).collect())
    });
    match holders.as_deref() {
        Some([fence]) => Ok(*fence),
        None | Some([]) => {
            Err(ApiError::conflict("lock_not_held", format!("no lease holds a lock `{lock}`")))
        }
        Some(several) => {
            let list: Vec<String> = several.iter().map(|fence| fence.0.to_string()).collect();
            let detail =
                format!("lock `{lock}` has holders {}: name one as `fence`", list.join(", "));
            Err(ApiError::bad_request(detail))
        }
    }
}
