//! A connection that is made when it is needed, and made anew when it broke.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::timeout;
use tokio_postgres::config::Host;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Config, Error, NoTls};

use super::failure;
use crate::store::StoreError;

/// How long a connection may take to be made.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// After how long a silent connection is asked whether it lives, and how long sent bytes may stay unanswered.
const KEEPALIVE: Duration = Duration::from_secs(5);

/// A value that goes with a statement, and its type.
pub(crate) type Parameter<'a> = (&'a (dyn ToSql + Sync), Type);

/// Work on a connection.
pub(crate) type Work<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// One connection, used by one at a time.
pub(crate) struct Line {
    config: Config,
    place: Arc<str>,
    /// How long a call may take in all.
    within: Duration,
    client: Mutex<Option<Client>>,
}

impl Line {
    pub(crate) fn new(config: Config, place: Arc<str>, within: Duration) -> Self {
        Self { config, place, within, client: Mutex::new(None) }
    }

    /// Does work on the connection. If it fails in any way the connection is given up, and with it whatever transaction
    /// the work had begun.
    pub(crate) async fn call<T>(
        &self,
        work: impl for<'a> FnOnce(&'a Client) -> Work<'a, T> + Send,
    ) -> Result<T, StoreError> {
        let called = timeout(self.within, async {
            let mut held = self.client.lock().await;
            // Taken out: whoever stops waiting for this drops it half done.
            let client = match held.take().filter(|client| !client.is_closed()) {
                Some(client) => client,
                None => connect(&self.config).await?,
            };
            let done = work(&client).await?;
            *held = Some(client);
            Ok(done)
        });
        let Ok(done) = called.await else {
            let reason = format!("no answer within {:?}", self.within);
            return Err(failure::unavailable(&self.place, reason));
        };
        done.map_err(|error: Error| failure::of_postgres(&self.place, &error))
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Line(to {})", self.place)
    }
}

async fn connect(config: &Config) -> Result<Client, Error> {
    let (client, connection) = config.connect(NoTls).await?;
    // How it ended is told to whoever uses the client.
    tokio::spawn(async move { drop(connection.await) });
    Ok(client)
}

/// Where an address leads, and how it is shown: without its password.
pub(crate) fn address(url: &str) -> Result<(Config, Arc<str>), StoreError> {
    let mut config: Config = url.parse().map_err(|error: Error| {
        // What the driver says may repeat what was wrong with it, but no more of it.
        failure::unusable("postgres:", format!("its address cannot be read: {error}"))
    })?;
    config.application_name("windlass");
    config.connect_timeout(CONNECT_WITHIN).keepalives_idle(KEEPALIVE).tcp_user_timeout(KEEPALIVE);
    let place = shown(&config).into();
    Ok((config, place))
}

fn shown(config: &Config) -> String {
    let host = config.get_hosts().first().map_or_else(
        || "localhost".to_owned(),
        |host| match host {
            Host::Tcp(name) => name.clone(),
            Host::Unix(path) => path.display().to_string(),
        },
    );
    let port = config.get_ports().first().map_or_else(String::new, |port| format!(":{port}"));
    let database = config.get_dbname().or(config.get_user()).unwrap_or_default();
    format!("postgres://{host}{port}/{database}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_shown_without_its_password() {
        let (_, place) = address("postgres://ann:hush@db.example:6432/ship").unwrap();
        assert_eq!(&*place, "postgres://db.example:6432/ship");
        let error = address("postgres://ann:hush@db.example:port/ship").unwrap_err();
        assert!(!error.to_string().contains("hush"), "{error}");
    }
}
