//! A journal that somebody else leads, read over HTTP.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::id::{RunId, Term};

use super::upstream::Upstream;
use crate::journal::{
    Append, BatchId, Campaign, Candidate, Journal, Leading, Position, Snapshot, Stored,
};
use crate::link::http::{BATCH_HEADER, CallError, Cluster, JournalPage, POSITION_HEADER, Role};
use crate::store::{Promise, StoreError};

/// The journal of another controller's cluster. It can be read, and whoever wants to lead it is told who does.
#[derive(Debug)]
pub struct ObservedJournal {
    upstream: Arc<Upstream>,
    /// Which cluster it is of: another one is not taken for it.
    cluster: String,
}

impl ObservedJournal {
    /// The journal of this cluster.
    pub const fn new(upstream: Arc<Upstream>, cluster: String) -> Self {
        Self { upstream, cluster }
    }

    async fn there(&self) -> Result<Cluster, StoreError> {
        let there = self.upstream.cluster().await.map_err(|error| self.unavailable(&error))?;
        if there.id == self.cluster {
            return Ok(there);
        }
        Err(self.unusable(format!("it is of cluster {}, not {}", there.id, self.cluster)))
    }

    async fn page(&self, after: Position, most: usize) -> Result<JournalPage, StoreError> {
        let path = format!("/journal?after={after}&limit={most}");
        let answered = match self.upstream.get(&path, &[], Duration::ZERO).await {
            // What comes next has left: the state that took its place is newer than that.
            Err(CallError::Refused(problem)) if problem.code == "gone" => {
                return Err(StoreError::Pruned { upto: Position(after.0 + 1) });
            }
            answered => answered.map_err(|error| self.unavailable(&error))?,
        };
        JournalPage::decode(&answered.body).map_err(|error| self.unusable(error))
    }

    fn unavailable(&self, error: &CallError) -> StoreError {
        StoreError::Unavailable { place: self.place(), reason: error.to_string() }
    }

    fn unusable(&self, reason: String) -> StoreError {
        StoreError::Unusable { place: self.place(), reason }
    }

    fn reads_only(&self) -> StoreError {
        self.unusable("an observer writes nothing".to_owned())
    }

    fn place(&self) -> String {
        self.upstream.place().to_string()
    }
}

impl Journal for ObservedJournal {
    fn campaign(&self, _: Candidate) -> Promise<'_, Campaign> {
        Box::pin(async {
            let leading = self.leader().await?;
            let nobody = || Leading { node: "nobody that is known".to_owned(), address: None };
            let Leading { node, address } = leading.unwrap_or_else(nobody);
            Ok(Campaign::LedBy { node, pid: None, address })
        })
    }

    fn leader(&self) -> Promise<'_, Option<Leading>> {
        Box::pin(async {
            let Cluster { leader, role, advertise, .. } = self.there().await?;
            let itself = (role == Role::Leader).then_some(advertise);
            Ok(match (leader, itself) {
                (Some(leader), itself) => {
                    Some(Leading { node: leader.node, address: leader.address.or(itself) })
                }
                (None, Some(address)) => {
                    Some(Leading { node: "the controller".to_owned(), address: Some(address) })
                }
                (None, None) => None,
            })
        })
    }

    fn renew(&self, _: Term) -> Promise<'_, ()> {
        Box::pin(async { Err(self.reads_only()) })
    }

    fn resign(&self, _: Term) -> Promise<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    fn append(&self, _: Append) -> Promise<'_, Position> {
        Box::pin(async { Err(self.reads_only()) })
    }

    fn condemn(&self, _: Term, _: RunId) -> Promise<'_, ()> {
        Box::pin(async { Err(self.reads_only()) })
    }

    fn tail(&self, after: Position, most: usize) -> Promise<'_, Vec<Stored>> {
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

    fn head(&self) -> Promise<'_, Position> {
        Box::pin(async { Ok(Position(self.there().await?.position)) })
    }

    fn save(&self, _: Snapshot) -> Promise<'_, ()> {
        Box::pin(async { Err(self.reads_only()) })
    }

    fn snapshot(&self) -> Promise<'_, Option<Snapshot>> {
        Box::pin(async {
            let answered = self.upstream.get("/journal/snapshot", &[], Duration::ZERO).await;
            let answered = answered.map_err(|error| self.unavailable(&error))?;
            let number = |name| answered.headers.get(name)?.to_str().ok()?.parse().ok();
            let position = number(POSITION_HEADER).map(Position);
            let named = position.zip(number(BATCH_HEADER).map(BatchId));
            let state = answered.body.to_vec();
            let named = named.filter(|_| !state.is_empty());
            Ok(named.map(|(position, batch)| Snapshot { position, batch, state }))
        })
    }

    fn prune(&self, _: Position) -> Promise<'_, Position> {
        Box::pin(async { Err(self.reads_only()) })
    }
}
