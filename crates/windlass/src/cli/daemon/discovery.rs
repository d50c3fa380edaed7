//! A worker that knows the cluster's database. It finds the leader there and uses HTTP if it can reach it, else
//! mailboxes in the database. When the leader stops answering, it looks again.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, timeout};
use windlass_core::session::{
    Exchange, ExchangeReply, LeaseRef, RegisterReply, RegisterRequest, WorkerRefusal,
};
use windlass_link::output::{LogChunk, LogChunksReply, OutputLink};
use windlass_link::{LinkError, LinkFuture, WorkerLink};
use windlass_net::credentials::WorkerSecret;
use windlass_net::http::ControllerAddress;
use windlass_store::journal::PostgresJournal;
use windlass_store::logs::{LogId, LogPart};

use super::join::{JoinRoute, JoinTarget};
use crate::cli::error::CliError;

/// How long a controller may take to answer before it counts as unreachable.
const ANSWERS_WITHIN: Duration = Duration::from_secs(3);

/// The shortest interval between two lookups.
const DISCOVERY_INTERVAL: Duration = Duration::from_secs(1);

/// A connection to the leader of a cluster, found through its database.
#[derive(Debug)]
pub(super) struct DiscoveredLink {
    url: String,
    /// The options of HTTP connections.
    http: JoinTarget,
    mail: JoinRoute,
    worker: Option<WorkerSecret>,
    now: Mutex<DiscoveryState>,
}

#[derive(Debug)]
struct DiscoveryState {
    /// The HTTP connection, while there is one.
    direct: Option<Arc<JoinRoute>>,
    looked: Option<Instant>,
}

impl DiscoveredLink {
    /// Starts with mailboxes, until a controller has been reached.
    pub(super) fn new(
        url: &str,
        http: JoinTarget,
        mail: JoinRoute,
        worker: Option<WorkerSecret>,
    ) -> Self {
        let now = Mutex::new(DiscoveryState { direct: None, looked: None });
        Self { url: url.to_owned(), http, mail, worker, now }
    }

    pub(super) fn place(&self) -> String {
        self.direct().map_or_else(|| self.mail.place(), |way| way.place())
    }

    /// Fetches the id of the cluster.
    pub(super) async fn cluster(&self) -> Result<String, LinkError> {
        self.find_leader().await;
        match self.direct() {
            Some(way) => Box::pin(way.cluster()).await,
            None => Box::pin(self.mail.cluster()).await,
        }
    }

    pub(super) async fn deregister(
        &self,
        worker: &WorkerSecret,
        incarnation: windlass_core::id::Incarnation,
    ) {
        match self.direct() {
            Some(way) => Box::pin(way.deregister(worker, incarnation)).await,
            None => Box::pin(self.mail.deregister(worker, incarnation)).await,
        }
    }

    /// The HTTP connection to the leader, while there is one.
    pub(super) fn direct(&self) -> Option<Arc<JoinRoute>> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).direct.clone()
    }

    /// Looks up the leader, and tests whether it can be reached.
    pub(super) async fn find_leader(&self) {
        let now = Instant::now();
        {
            let mut held = self.now.lock().unwrap_or_else(PoisonError::into_inner);
            if held.looked.is_some_and(|looked| now < looked + DISCOVERY_INTERVAL) {
                return;
            }
            held.looked = Some(now);
        }
        let direct = self.connect_leader().await.map(Arc::new);
        self.now.lock().unwrap_or_else(PoisonError::into_inner).direct = direct;
    }

    async fn connect_leader(&self) -> Option<JoinRoute> {
        let leader = PostgresJournal::leader_at(&self.url).await.ok()??;
        let address = leader.address?;
        let way = self.http_way(&address).ok()??;
        let answered = timeout(ANSWERS_WITHIN, Box::pin(way.cluster())).await;
        matches!(answered, Ok(Ok(_))).then_some(way)
    }

    fn http_way(&self, address: &str) -> Result<Option<JoinRoute>, CliError> {
        let (JoinTarget::Http { ca, token, .. }, Ok(at)) =
            (&self.http, address.parse::<ControllerAddress>())
        else {
            return Ok(None);
        };
        let (ca, token) = (ca.clone(), token.clone());
        let join = JoinTarget::Http { places: vec![at], ca, token };
        join.open(self.worker.clone()).map(Some)
    }

    /// Passes an answer on; a missing answer triggers a new lookup.
    async fn note_answer<T>(&self, answered: Result<T, LinkError>) -> Result<T, LinkError> {
        if answered.as_ref().is_err_and(|error| !error.is_final()) {
            self.find_leader().await;
        }
        answered
    }

    fn link(&self) -> Arc<dyn WorkerLink> {
        self.direct().map_or_else(|| self.mail.link(), |way| way.link())
    }

    fn ships(&self) -> Arc<dyn OutputLink> {
        self.direct().map_or_else(|| self.mail.ships(), |way| way.ships())
    }
}

impl WorkerLink for DiscoveredLink {
    fn register(
        &self,
        register: RegisterRequest,
    ) -> LinkFuture<'_, Result<RegisterReply, WorkerRefusal>> {
        Box::pin(async move {
            let answered = self.link().register(register).await;
            self.note_answer(answered).await
        })
    }

    fn exchange(&self, exchange: Exchange) -> LinkFuture<'_, ExchangeReply> {
        Box::pin(async move {
            let answered = self.link().exchange(exchange).await;
            self.note_answer(answered).await
        })
    }

    fn cancel_run(&self, lease: LeaseRef) -> LinkFuture<'_, ()> {
        Box::pin(async move {
            let answered = self.link().cancel_run(lease).await;
            self.note_answer(answered).await
        })
    }
}

impl OutputLink for DiscoveredLink {
    fn ship(&self, pieces: Vec<LogChunk>) -> LinkFuture<'_, LogChunksReply> {
        Box::pin(async move {
            let answered = self.ships().ship(pieces).await;
            self.note_answer(answered).await
        })
    }

    fn fetch(&self, value: LogId, from: u64) -> LinkFuture<'_, LogPart> {
        Box::pin(async move {
            let answered = self.ships().fetch(value, from).await;
            self.note_answer(answered).await
        })
    }
}
