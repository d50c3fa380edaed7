//! A connection that opens on demand, and again after it broke.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error};

use super::address::PgAddress;
use super::failure;
use crate::db::StoreError;

/// A parameter of a statement, and its type.
pub type PgParameter<'a> = (&'a (dyn ToSql + Sync), Type);

/// Work on a connection.
pub type PgWork<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// One connection, used by one call at a time.
pub struct PgConnection {
    address: PgAddress,
    /// Timeout of a call.
    within: Duration,
    client: Mutex<Option<Client>>,
    /// Whether the server is behind a pooler, which accepts no settings of one client.
    is_pooled: AtomicBool,
}

impl PgConnection {
    /// Creates a connection that opens with its first call; `within` is the timeout of each call.
    pub fn new(address: PgAddress, within: Duration) -> Self {
        Self { address, within, client: Mutex::new(None), is_pooled: AtomicBool::new(false) }
    }

    /// Executes work on the connection. If it fails, the connection is closed, and with it a transaction of the work.
    pub async fn call<T>(
        &self,
        work: impl for<'a> FnOnce(&'a Client) -> PgWork<'a, T> + Send,
    ) -> Result<T, StoreError> {
        let called = timeout(self.within, async {
            let mut held = self.client.lock().await;
            // Taken out, so that a cancelled call drops the connection.
            let client = match held.take().filter(|client| !client.is_closed()) {
                Some(client) => client,
                None => self.connect().await?,
            };
            let done = work(&client).await?;
            *held = Some(client);
            Ok(done)
        });
        let Ok(done) = called.await else {
            let reason = format!("no answer within {:?}", self.within);
            return Err(failure::unavailable(&self.address.place, reason));
        };
        done.map_err(|error: Error| failure::from_postgres(&self.address.place, &error))
    }

    /// Opens a connection with timeouts that the server enforces too. A pooler refuses such settings; behind one the
    /// settings of the role apply.
    async fn connect(&self) -> Result<Client, Error> {
        if !self.is_pooled.load(Ordering::Relaxed) {
            match connect(&self.address.with_timeout(self.within)).await {
                Err(error) if is_pooler(&error) => self.is_pooled.store(true, Ordering::Relaxed),
                connected => return connected,
            }
        }
        connect(&self.address).await
    }
}

impl fmt::Debug for PgConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Line(to {})", self.address.place)
    }
}

async fn connect(address: &PgAddress) -> Result<Client, Error> {
    let (client, connection) = address.config.connect(address.security.clone()).await?;
    // Users of the client learn how the connection ended.
    tokio::spawn(async move { drop(connection.await) });
    Ok(client)
}

/// Whether a pooler refused the settings of the connection.
fn is_pooler(error: &Error) -> bool {
    error.as_db_error().is_some_and(|said| {
        *said.code() == SqlState::PROTOCOL_VIOLATION && said.message().contains("startup parameter")
    })
}
