//! Where a database is, and how it is to be reached.
//!
//! An address is as libpq has it, `postgres://user:password@host:port/database?name=value`. What the driver does not know
//! of it is read here: how much is asked of the server's certificate (`sslmode`) and who vouches for it (`sslrootcert`).

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Config, Error};
use windlass_net::percent_encoding::percent_decode;

use super::failure;
use super::tls::PgTls;
use crate::db::StoreError;

/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// After how long a silent connection is asked whether it lives, and how long sent bytes may stay unanswered.
const KEEPALIVE: Duration = Duration::from_secs(5);

/// Where a database is.
#[derive(Clone, Debug)]
pub struct PgAddress {
    pub(super) config: Config,
    pub(super) security: PgTls,
    /// How it is shown: without its password.
    pub(super) place: Arc<str>,
}

impl PgAddress {
    /// Reads a connection URL. The password does not appear in the display name.
    pub fn parse(url: &str) -> Result<Self, StoreError> {
        let (url, asked) = PgTlsOptions::split_url(url);
        let mut config: Config = url.parse().map_err(|error: Error| {
            // What the driver says may repeat what was wrong with it, but no more of it.
            failure::unusable("postgres:", format!("its address cannot be read: {error}"))
        })?;
        if config.get_application_name().is_none() {
            config.application_name("windlass");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        config.keepalives_idle(KEEPALIVE).tcp_user_timeout(KEEPALIVE);
        let place: Arc<str> = display_name_of(&config).into();
        let is_local = config.get_hosts().iter().all(|host| matches!(host, Host::Unix(_)));
        let refused = |reason| failure::unusable(&place, reason);
        let (mode, security) = if is_local && !config.get_hosts().is_empty() {
            // As libpq: nobody stands between who share a file system.
            (SslMode::Disable, PgTls::disabled())
        } else {
            asked.tls_config().map_err(refused)?
        };
        config.ssl_mode(mode);
        Ok(Self { config, security, place })
    }

    /// How it is shown: without its password.
    pub fn display_name(&self) -> &str {
        &self.place
    }

    /// The same, for calls that take no longer than so. The server ends what takes longer, and who has begun something
    /// and does not go on: its locks would be in everybody's way.
    pub(super) fn with_timeout(&self, limit: Duration) -> Self {
        let mut within = self.clone();
        let limit = limit.as_millis();
        let own = self.config.get_options().unwrap_or_default();
        within.config.options(format!(
            "{own} -c statement_timeout={limit} -c lock_timeout={limit} \
             -c idle_in_transaction_session_timeout={limit} -c synchronous_commit=on"
        ));
        within
    }
}

/// What an address asks of TLS.
#[derive(Debug, Default)]
struct PgTlsOptions {
    mode: Option<String>,
    ca: Option<String>,
}

impl PgTlsOptions {
    /// The rest of the address, which is the driver's, and what it asks of TLS.
    fn split_url(url: &str) -> (String, Self) {
        let mut asked = Self::default();
        let Some((url, query)) = url.split_once('?') else { return (url.to_owned(), asked) };
        let mut rest = Vec::new();
        for pair in query.split('&') {
            match pair.split_once('=') {
                Some(("sslmode", mode)) => asked.mode = Some(percent_decode(mode)),
                Some(("sslrootcert", file)) => asked.ca = Some(percent_decode(file)),
                _ => rest.push(pair),
            }
        }
        (format!("{url}?{}", rest.join("&")), asked)
    }

    /// What that means; the words are libpq's.
    fn tls_config(&self) -> Result<(SslMode, PgTls), String> {
        // The system's authorities are those that browsers believe.
        let ca = self.ca.as_deref().filter(|ca| *ca != "system").map(Path::new);
        let mode = self.mode.as_deref().unwrap_or("prefer");
        match mode {
            "disable" => Ok((SslMode::Disable, PgTls::disabled())),
            "allow" | "prefer" => Ok((SslMode::Prefer, PgTls::encrypted()?)),
            "require" if self.ca.is_none() => Ok((SslMode::Require, PgTls::encrypted()?)),
            "require" | "verify-ca" => Ok((SslMode::Require, PgTls::verify_ca(ca)?)),
            "verify-full" => Ok((SslMode::Require, PgTls::verify_full(ca)?)),
            other => Err(format!(
                "sslmode={other} in its address means nothing: it is disable, prefer, require, \
                 verify-ca or verify-full"
            )),
        }
    }
}

fn display_name_of(config: &Config) -> String {
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
        let address = PgAddress::parse("postgres://ann:hush@db.example:6432/ship").unwrap();
        assert_eq!(&*address.place, "postgres://db.example:6432/ship");
        let error = PgAddress::parse("postgres://ann:hush@db.example:port/ship").err().unwrap();
        assert!(!error.to_string().contains("hush"), "{error}");
    }

    #[test]
    fn what_is_asked_of_tls_is_told_apart_from_the_rest() {
        let (rest, asked) = PgTlsOptions::split_url(
            "postgres://db/ship?sslmode=verify-full&options=-ca%3Db&sslrootcert=%2Fa%20b",
        );
        assert_eq!(rest, "postgres://db/ship?options=-ca%3Db");
        assert_eq!(asked.mode.as_deref(), Some("verify-full"));
        assert_eq!(asked.ca.as_deref(), Some("/a b"));
    }

    #[test]
    fn a_mode_that_there_is_not_is_refused_with_those_that_there_are() {
        let error = PgAddress::parse("postgres://db/ship?sslmode=yes").err().unwrap();
        assert!(error.to_string().contains("verify-full"), "{error}");
        let modes = |mode: &str| {
            let address = PgAddress::parse(&format!("postgres://db/ship?sslmode={mode}")).unwrap();
            address.config.get_ssl_mode()
        };
        assert_eq!(modes("disable"), SslMode::Disable);
        assert_eq!(modes("prefer"), SslMode::Prefer);
        assert_eq!(modes("require"), SslMode::Require);
    }

    #[test]
    fn limits_stand_beside_what_the_address_sets() {
        let address = PgAddress::parse("postgres://db/ship?options=-csearch_path%3Da").unwrap();
        let within = address.with_timeout(Duration::from_secs(2));
        let options = within.config.get_options().unwrap();
        assert!(options.starts_with("-csearch_path=a -c statement_timeout=2000 "), "{options}");
    }
}
