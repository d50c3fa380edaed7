//! The proxy of each foreign worker.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::StatusCode;
use tokio::sync::Mutex as Turns;
use windlass_core::id::WorkerId;

use super::proxy::Proxy;
use crate::controller::api::refused::Refused;
use crate::controller::api::router::Api;

/// Who speaks for which foreign worker. There are no more than there are workers.
#[derive(Debug, Default)]
pub(in crate::controller::api) struct Proxies(Mutex<BTreeMap<WorkerId, Arc<Turns<Proxy>>>>);

impl Proxies {
    /// The proxy of a worker that is registered, for one request at a time.
    pub(super) fn of(&self, api: &Api, worker: WorkerId) -> Result<Arc<Turns<Proxy>>, Refused> {
        let fresh = Proxy::rebuilt(api, worker).ok_or_else(|| unknown(worker))?;
        let mut proxies = self.proxies();
        if let Some(known) = proxies.get(&worker) {
            // One that is busy right now is of this life, or its request comes to nothing.
            let same = known.try_lock().is_ok_and(|it| it.incarnation == fresh.incarnation);
            if same || known.try_lock().is_err() {
                return Ok(Arc::clone(known));
            }
        } else {
            let left = api.handle.views().look(|view| {
                let workers = view.engine.workers().map(|worker| worker.id);
                workers.collect::<std::collections::BTreeSet<_>>()
            });
            proxies.retain(|worker, _| left.contains(worker));
        }
        let fresh = Arc::new(Turns::new(fresh));
        proxies.insert(worker, Arc::clone(&fresh));
        Ok(fresh)
    }

    /// Forgets the proxy of a life that is over.
    pub(super) fn forget(&self, worker: WorkerId) {
        self.proxies().remove(&worker);
    }

    fn proxies(&self) -> MutexGuard<'_, BTreeMap<WorkerId, Arc<Turns<Proxy>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn unknown(worker: WorkerId) -> Refused {
    let detail = format!("there is no worker {}: register again", worker.0);
    Refused::new(StatusCode::NOT_FOUND, "no_such_worker", detail)
}
