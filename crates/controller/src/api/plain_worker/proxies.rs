//! The proxies of all plain workers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::StatusCode;
use tokio::sync::Mutex as Turns;
use windlass_core::id::{Incarnation, WorkerId};

use super::proxy::PlainWorkerProxy;
use crate::api::api_error::ApiError;
use crate::api::api_state::Api;

/// The proxy of one incarnation of a worker, for one request at a time.
type SharedWorkerProxy = (Incarnation, Arc<Turns<PlainWorkerProxy>>);

/// The proxy of each plain worker. There are no more proxies than workers.
#[derive(Debug, Default)]
pub(in crate::api) struct PlainWorkerProxies(Mutex<BTreeMap<WorkerId, SharedWorkerProxy>>);

impl PlainWorkerProxies {
    /// Returns the proxy of a registered worker.
    pub(super) fn of(
        &self,
        api: &Api,
        worker: WorkerId,
    ) -> Result<Arc<Turns<PlainWorkerProxy>>, ApiError> {
        let known = api.handle.views().with(|view| {
            let mut workers = view.engine.workers();
            workers.find(|known| known.id == worker).map(|known| known.incarnation)
        });
        let incarnation = known.ok_or_else(|| unknown(worker))?;
        let mut proxies = self.proxies();
        if let Some((_, proxy)) = proxies.get(&worker).filter(|(of, _)| *of == incarnation) {
            return Ok(Arc::clone(proxy));
        }
        let fresh = PlainWorkerProxy::rebuilt(api, worker).ok_or_else(|| unknown(worker))?;
        let fresh = Arc::new(Turns::new(fresh));
        let left: BTreeSet<WorkerId> =
            api.handle.views().with(|view| view.engine.workers().map(|known| known.id).collect());
        proxies.retain(|worker, _| left.contains(worker));
        api.handle.self_reports().retain(|worker| left.contains(&worker));
        proxies.insert(worker, (incarnation, Arc::clone(&fresh)));
        Ok(fresh)
    }

    fn proxies(&self) -> MutexGuard<'_, BTreeMap<WorkerId, SharedWorkerProxy>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn unknown(worker: WorkerId) -> ApiError {
    let detail = format!("there is no worker {}: register again", worker.0);
    ApiError::new(StatusCode::NOT_FOUND, "no_such_worker", detail)
}
