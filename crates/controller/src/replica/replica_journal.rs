//! The journal of another controller, read over HTTP.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::id::{RunId, Term};
use windlass_link::http::{
    BATCH_HEADER, ClusterDescription, ControllerRole, JournalPage, POSITION_HEADER,
};
use windlass_net::http::HttpCallError;
use windlass_store::db::{StoreError, StoreFuture};
use windlass_store::journal::{
    BatchId, CampaignOutcome, CurrentLeader, EventBatch, Journal, JournalSnapshot, LeaderCandidate,
    Position,
};

use super::upstream::UpstreamCluster;

/// The journal of another controller's cluster. It can be read; a campaign returns the leader of that cluster.
#[derive(Debug)]
pub struct ReplicaJournal {
    upstream: Arc<UpstreamCluster>,
    /// The id of the cluster. The journal of any other cluster is refused.
    cluster: String,
}

impl ReplicaJournal {
    /// Returns the journal of this cluster.
    pub const fn new(upstream: Arc<UpstreamCluster>, cluster: String) -> Self {
        Self { upstream, cluster }
    }

    async fn upstream_cluster(&self) -> Result<ClusterDescription, StoreError> {
        let there = self.upstream.cluster().await.map_err(|error| self.unavailable(&error))?;
        if there.id == self.cluster {
            return Ok(there);
        }
        Err(self.unusable(format!("it is of cluster {}, not {}", there.id, self.cluster)))
    }

    async fn page(&self, after: Position, most: usize) -> Result<JournalPage, StoreError> {
        let path = format!("/journal?after={after}&limit={most}");
        let answered = match self.upstream.get(&path, &[], Duration::ZERO).await {
            // The next event was pruned: a newer snapshot replaces it.
            Err(HttpCallError::Refused(problem)) if problem.code == "gone" => {
                return Err(StoreError::Pruned { upto: Position(after.0 + 1) });
            }
            answered => answered.map_err(|error| self.unavailable(&error))?,
        };
        JournalPage::decode(&answered.body).map_err(|error| self.unusable(error))
    }

    fn unavailable(&self, error: &HttpCallError) -> StoreError {
        StoreError::Unavailable { place: self.place(), reason: error.to_string() }
    }

    fn unusable(&self, reason: String) -> StoreError {
        StoreError::Unusable { place: self.place(), reason }
    }

    fn reads_only(&self) -> StoreError {
        self.unusable("an observer writes nothing".to_owned())
    }

    fn place(&self) -> String {
        self.upstream.address().to_string()
    }
}

impl Journal for ReplicaJournal {
    fn campaign(&self, _: LeaderCandidate) -> StoreFuture<'_, CampaignOutcome> {
        Box::pin(async {
            let leading = self.leader().await?;
            let unknown = || CurrentLeader { node: "an unknown node".to_owned(), address: None };
            let CurrentLeader { node, address } = leading.unwrap_or_else(unknown);
            Ok(CampaignOutcome::LedBy { node, pid: None, address })
        })
    }

    fn leader(&self) -> StoreFuture<'_, Option<CurrentLeader>> {
        Box::pin(async {
            let ClusterDescription { leader, role, advertise, .. } =
                self.upstream_cluster().await?;
            let itself = (role.0 == ControllerRole::Leader).then_some(advertise);
            Ok(match (leader, itself) {
                (Some(leader), itself) => {
                    Some(CurrentLeader { node: leader.node, address: leader.address.or(itself) })
                }
                (None, Some(address)) => Some(CurrentLeader {
                    node: "the controller".to_owned(),
                    address: Some(address),
                }),
                (None, None) => None,
            })
        })
    }

    fn renew(&self, _: Term) -> StoreFuture<'_, ()> {
        Box::pin(async { Err(self.reads_only()) })
    }

    fn resign(&self, _: Term) -> StoreFuture<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    fn append(&self, _: Arc<EventBatch>) -> StoreFuture<'_, Position> {
        Box::pin(async { Err(self.reads_only()) })
    }

    fn condemn(&self, _: Term, _: RunId) -> StoreFuture<'_, ()> {
        Box::pin(async { Err(self.reads_only()) })
    }

    fn tail(&self, after: Position, most: usize) -> StoreFuture<'_, Vec<Arc<EventBatch>>> {
        Box::pin(async move {
            let page = self.page(after, most).await?;
            if page.head < after.0 {
                let what = format!(
                    "it ends at position {}, and {after} was read of it: it was restored from a backup; start this observer anew",
                    page.head
                );
                return Err(self.unusable(what));
            }
            page.unpack().map_err(|error| self.unusable(error))
        })
    }

    fn head(&self) -> StoreFuture<'_, Position> {
        Box::pin(async { Ok(Position(self.upstream_cluster().await?.position)) })
    }

    fn save(&self, _: JournalSnapshot) -> StoreFuture<'_, ()> {
        Box::pin(async { Err(self.reads_only()) })
    }

    fn snapshot(&self) -> StoreFuture<'_, Option<JournalSnapshot>> {
        Box::pin(async {
            let answered = self.upstream.get("/journal/snapshot", &[], Duration::ZERO).await;
            let answered = answered.map_err(|error| self.unavailable(&error))?;
            let number = |name| answered.headers.get(name)?.to_str().ok()?.parse().ok();
            let position = number(POSITION_HEADER).map(Position);
            let named = position.zip(number(BATCH_HEADER).map(BatchId));
            let state = answered.body.to_vec();
            let named = named.filter(|_| !state.is_empty());
            Ok(named.map(|(position, batch)| JournalSnapshot { position, batch, state }))
        })
    }

    fn prune(&self, _: Position) -> StoreFuture<'_, Position> {
        Box::pin(async { Err(self.reads_only()) })
    }
}
