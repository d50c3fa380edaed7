//! The files of steps for a worker that knows the cluster's database: at the leader that it finds there.

use std::sync::{Arc, Mutex, PoisonError};

use windlass_link::http::{HttpObjects, HttpWorkerLink};
use windlass_net::http::ControllerAddress;
use windlass_store::db::StoreError;
use windlass_store::objects::{FindObjects, ObjectError, ObjectFuture};

use super::discovery::DiscoveredLink;
use super::join::JoinRoute;

/// The objects at the leader of a cluster, found through its database.
#[derive(Debug)]
pub(super) struct DiscoveredObjects {
    link: Arc<DiscoveredLink>,
    /// The objects at the leader that was found last.
    known: Mutex<Option<(ControllerAddress, Arc<HttpObjects>)>>,
}

impl DiscoveredObjects {
    /// The objects at the leader that this link finds.
    pub(super) const fn new(link: Arc<DiscoveredLink>) -> Self {
        Self { link, known: Mutex::new(None) }
    }

    /// The objects at the leader, which is looked up again if it is not known.
    async fn objects(&self) -> Result<Arc<HttpObjects>, ObjectError> {
        if self.link.direct().is_none() {
            self.link.find_leader().await;
        }
        if let Some(route) = self.link.direct()
            && let JoinRoute::Http(leader) = &*route
        {
            return Ok(self.objects_at(leader));
        }
        Err(self.out_of_reach())
    }

    /// The objects at this leader, with the connections of earlier calls.
    fn objects_at(&self, leader: &HttpWorkerLink) -> Arc<HttpObjects> {
        let address = leader.address();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, objects)) = &*known
            && *known == address
        {
            return Arc::clone(objects);
        }
        let objects = Arc::new(HttpObjects::new(leader.client(), leader.places().to_vec()));
        *known = Some((address, Arc::clone(&objects)));
        objects
    }

    fn out_of_reach(&self) -> ObjectError {
        let reason = "this worker reaches no controller over HTTP, and files of steps do not travel through the \
                      database: open the address of a controller to this machine";
        StoreError::Unavailable { place: self.link.place(), reason: reason.to_owned() }.into()
    }
}

impl FindObjects for DiscoveredObjects {
    type Store = HttpObjects;

    fn find_objects(&self) -> ObjectFuture<'_, Arc<HttpObjects>> {
        Box::pin(self.objects())
    }
}
