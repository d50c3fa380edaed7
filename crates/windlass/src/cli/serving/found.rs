//! A worker that knows the cluster's database: it finds out where the leader is, over HTTP if it can be reached, by letters
//! in the database if not, and finds out anew when it does not answer any more.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, timeout};
use windlass_core::session::{Exchange, LeaseRef, Refusal, Register, Registered, Reply};

use super::approach::{Join, Way};
use crate::cli::error::CliError;
use crate::journal::PostgresJournal;
use crate::link::http::Place;
use crate::link::output::{LogChunk, LogsTaken, Ships};
use crate::link::{Carried, Link, LinkError, WorkerSecret};
use crate::logs::{LogId, LogPart};

/// How long a controller may take to answer before it counts as one that cannot be reached.
const ANSWERS_WITHIN: Duration = Duration::from_secs(3);

/// How often it is looked for anew, at most.
const LOOKS_EVERY: Duration = Duration::from_secs(1);

/// A way to whoever leads the cluster of a database.
#[derive(Debug)]
pub(super) struct Found {
    url: String,
    /// How controllers are asked.
    http: Join,
    mail: Way,
    worker: Option<WorkerSecret>,
    now: Mutex<Now>,
}

#[derive(Debug)]
struct Now {
    /// The way over HTTP, while there is one.
    direct: Option<Arc<Way>>,
    looked: Option<Instant>,
}

impl Found {
    /// Sets out by letters, until a controller has been reached.
    pub(super) fn new(url: &str, http: Join, mail: Way, worker: Option<WorkerSecret>) -> Self {
        let now = Mutex::new(Now { direct: None, looked: None });
        Self { url: url.to_owned(), http, mail, worker, now }
    }

    pub(super) fn place(&self) -> String {
        self.direct().map_or_else(|| self.mail.place(), |way| way.place())
    }

    /// Asks which cluster it is.
    pub(super) async fn cluster(&self) -> Result<String, LinkError> {
        self.look().await;
        match self.direct() {
            Some(way) => Box::pin(way.cluster()).await,
            None => Box::pin(self.mail.cluster()).await,
        }
    }

    pub(super) async fn say_goodbye(
        &self,
        worker: &WorkerSecret,
        incarnation: windlass_core::id::Incarnation,
    ) {
        match self.direct() {
            Some(way) => Box::pin(way.say_goodbye(worker, incarnation)).await,
            None => Box::pin(self.mail.say_goodbye(worker, incarnation)).await,
        }
    }

    fn direct(&self) -> Option<Arc<Way>> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).direct.clone()
    }

    /// Looks where the leader is, and whether it can be reached.
    pub(super) async fn look(&self) {
        let now = Instant::now();
        {
            let mut held = self.now.lock().unwrap_or_else(PoisonError::into_inner);
            if held.looked.is_some_and(|looked| now < looked + LOOKS_EVERY) {
                return;
            }
            held.looked = Some(now);
        }
        let direct = self.reach().await.map(Arc::new);
        self.now.lock().unwrap_or_else(PoisonError::into_inner).direct = direct;
    }

    async fn reach(&self) -> Option<Way> {
        let leader = PostgresJournal::leader_at(&self.url).await.ok()??;
        let address = leader.address?;
        let way = self.http_way(&address).ok()??;
        let answered = timeout(ANSWERS_WITHIN, Box::pin(way.cluster())).await;
        matches!(answered, Ok(Ok(_))).then_some(way)
    }

    fn http_way(&self, address: &str) -> Result<Option<Way>, CliError> {
        let (Join::Http { ca, token, .. }, Ok(place)) = (&self.http, address.parse::<Place>())
        else {
            return Ok(None);
        };
        let (ca, token) = (ca.clone(), token.clone());
        let join = Join::Http { places: vec![place], ca, token };
        join.set_out(self.worker.clone()).map(Some)
    }

    /// Passes an answer on. Where there is none it is looked for the leader anew.
    async fn heard<T>(&self, answered: Result<T, LinkError>) -> Result<T, LinkError> {
        if answered.as_ref().is_err_and(|error| !error.is_final()) {
            self.look().await;
        }
        answered
    }

    fn link(&self) -> Arc<dyn Link> {
        self.direct().map_or_else(|| self.mail.link(), |way| way.link())
    }

    fn ships(&self) -> Arc<dyn Ships> {
        self.direct().map_or_else(|| self.mail.ships(), |way| way.ships())
    }
}

impl Link for Found {
    fn register(&self, register: Register) -> Carried<'_, Result<Registered, Refusal>> {
        Box::pin(async move {
            let answered = self.link().register(register).await;
            self.heard(answered).await
        })
    }

    fn exchange(&self, exchange: Exchange) -> Carried<'_, Reply> {
        Box::pin(async move {
            let answered = self.link().exchange(exchange).await;
            self.heard(answered).await
        })
    }

    fn cancel_run(&self, lease: LeaseRef) -> Carried<'_, ()> {
        Box::pin(async move {
            let answered = self.link().cancel_run(lease).await;
            self.heard(answered).await
        })
    }
}

impl Ships for Found {
    fn ship(&self, pieces: Vec<LogChunk>) -> Carried<'_, LogsTaken> {
        Box::pin(async move {
            let answered = self.ships().ship(pieces).await;
            self.heard(answered).await
        })
    }

    fn fetch(&self, value: LogId, from: u64) -> Carried<'_, LogPart> {
        Box::pin(async move {
            let answered = self.ships().fetch(value, from).await;
            self.heard(answered).await
        })
    }
}
