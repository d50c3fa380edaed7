//! A worker that knows the cluster's database: it finds out where the leader is, over HTTP if it can be reached, by letters
//! in the database if not, and finds out anew when it does not answer any more.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, timeout};
use windlass_core::session::{
    Exchange, ExchangeReply, LeaseRef, RegisterReply, RegisterRequest, WorkerRefusal,
};

use super::join::{JoinRoute, JoinTarget};
use crate::cli::error::CliError;
use crate::journal::PostgresJournal;
use crate::link::http::ControllerAddress;
use crate::link::output::{LogChunk, LogChunksReply, OutputLink};
use crate::link::{LinkError, LinkFuture, WorkerLink, WorkerSecret};
use crate::logs::{LogId, LogPart};

/// How long a controller may take to answer before it counts as one that cannot be reached.
const ANSWERS_WITHIN: Duration = Duration::from_secs(3);

/// How often it is looked for anew, at most.
const DISCOVERY_INTERVAL: Duration = Duration::from_secs(1);

/// A way to whoever leads the cluster of a database.
#[derive(Debug)]
pub(super) struct DiscoveredLink {
    url: String,
    /// How controllers are asked.
    http: JoinTarget,
    mail: JoinRoute,
    worker: Option<WorkerSecret>,
    now: Mutex<DiscoveryState>,
}

#[derive(Debug)]
struct DiscoveryState {
    /// The way over HTTP, while there is one.
    direct: Option<Arc<JoinRoute>>,
    looked: Option<Instant>,
}

impl DiscoveredLink {
    /// Sets out by letters, until a controller has been reached.
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

    /// Asks which cluster it is.
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

    fn direct(&self) -> Option<Arc<JoinRoute>> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).direct.clone()
    }

    /// Looks where the leader is, and whether it can be reached.
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
        let (JoinTarget::Http { ca, token, .. }, Ok(place)) =
            (&self.http, address.parse::<ControllerAddress>())
        else {
            return Ok(None);
        };
        let (ca, token) = (ca.clone(), token.clone());
        let join = JoinTarget::Http { places: vec![place], ca, token };
        join.open(self.worker.clone()).map(Some)
    }

    /// Passes an answer on. Where there is none it is looked for the leader anew.
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
