//! A connection that is made when it is needed, and made anew when it broke.

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

/// A value that goes with a statement, and its type.
pub type PgParameter<'a> = (&'a (dyn ToSql + Sync), Type);

/// Work on a connection.
pub type PgWork<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// One connection, used by one at a time.
pub struct PgConnection {
    address: PgAddress,
    /// How long a call may take in all.
    within: Duration,
    client: Mutex<Option<Client>>,
    /// Whether a pooler stands between, which takes no settings for one of its clients alone.
    is_pooled: AtomicBool,
}

impl PgConnection {
    /// A connection that opens with its first call; `within` bounds each call.
    pub fn new(address: PgAddress, within: Duration) -> Self {
        Self { address, within, client: Mutex::new(None), is_pooled: AtomicBool::new(false) }
    }

    /// Does work on the connection. If it fails in any way the connection is given up, and with it whatever transaction
    /// the work had begun.
    pub async fn call<T>(
        &self,
        work: impl for<'a> FnOnce(&'a Client) -> PgWork<'a, T> + Send,
    ) -> Result<T, StoreError> {
        let called = timeout(self.within, async {
            let mut held = self.client.lock().await;
            // Taken out: whoever stops waiting for this drops it half done.
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

    /// A new connection, with limits that the server knows too. A pooler refuses such settings: behind one they are those
    /// of the role.
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
    // How it ended is told to whoever uses the client.
    tokio::spawn(async move { drop(connection.await) });
    Ok(client)
}

/// Whether a pooler does not take the settings that came with a connection.
fn is_pooler(error: &Error) -> bool {
    error.as_db_error().is_some_and(|said| {
        *said.code() == SqlState::PROTOCOL_VIOLATION && said.message().contains("startup parameter")
    })
}
