//! The address of a database, and how to connect to it.
//!
//! An address has the form of libpq, `postgres://user:password@host:port/database?name=value`. This module reads the
//! TLS options that the driver does not know: the check of the server's certificate (`sslmode`) and its CA bundle
//! (`sslrootcert`).

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Config, Error};
use windlass_net::percent_encoding::percent_decode;

use super::failure;
use super::tls::PgTls;
use crate::db::StoreError;

/// The timeout for opening a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The time after which an idle connection is probed, and after which unacknowledged bytes break it.
const KEEPALIVE: Duration = Duration::from_secs(5);

/// The address of a database.
#[derive(Clone, Debug)]
pub struct PgAddress {
    pub(super) config: Config,
    pub(super) security: PgTls,
    /// The display name: the address without the password.
    pub(super) place: Arc<str>,
}

impl PgAddress {
    /// Reads a connection URL. The password does not appear in the display name.
    pub fn parse(url: &str) -> Result<Self, StoreError> {
        let (url, tls) = PgTlsOptions::split_url(url);
        let mut config: Config = url.parse().map_err(|error: Error| {
            // The driver's message may repeat the wrong part of the address, but nothing else of it.
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
            // As in libpq: connections over a Unix socket do not use TLS.
            (SslMode::Disable, PgTls::disabled())
        } else {
            tls.tls_config().map_err(refused)?
        };
        config.ssl_mode(mode);
        Ok(Self { config, security, place })
    }

    /// Returns the display name: the address without the password.
    pub fn display_name(&self) -> &str {
        &self.place
    }

    /// Returns this address with a timeout for calls. The server ends a longer call, and a transaction that is idle for
    /// longer: its locks would block other nodes.
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

/// The TLS options of an address.
#[derive(Debug, Default)]
struct PgTlsOptions {
    mode: Option<String>,
    ca: Option<String>,
}

impl PgTlsOptions {
    /// Splits off the TLS options; the rest of the address is for the driver.
    fn split_url(url: &str) -> (String, Self) {
        let mut tls = Self::default();
        let Some((url, query)) = url.split_once('?') else { return (url.to_owned(), tls) };
        let mut rest = Vec::new();
        for pair in query.split('&') {
            match pair.split_once('=') {
                Some(("sslmode", mode)) => tls.mode = Some(percent_decode(mode)),
                Some(("sslrootcert", file)) => tls.ca = Some(percent_decode(file)),
                _ => rest.push(pair),
            }
        }
        (format!("{url}?{}", rest.join("&")), tls)
    }

    /// Returns the TLS configuration for these options; the words are libpq's.
    fn tls_config(&self) -> Result<(SslMode, PgTls), String> {
        // `system` means the public root certificates.
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
    fn display_name_has_no_password() {
        let address = PgAddress::parse("postgres://ann:hush@db.example:6432/ship").unwrap();
        assert_eq!(&*address.place, "postgres://db.example:6432/ship");
        let error = PgAddress::parse("postgres://ann:hush@db.example:port/ship").err().unwrap();
        assert!(!error.to_string().contains("hush"), "{error}");
    }

    #[test]
    fn tls_options_are_split_from_the_address() {
        let (rest, tls) = PgTlsOptions::split_url(
            "postgres://db/ship?sslmode=verify-full&options=-ca%3Db&sslrootcert=%2Fa%20b",
        );
        assert_eq!(rest, "postgres://db/ship?options=-ca%3Db");
        assert_eq!(tls.mode.as_deref(), Some("verify-full"));
        assert_eq!(tls.ca.as_deref(), Some("/a b"));
    }

    #[test]
    fn unknown_mode_is_refused_with_the_known_ones() {
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
    fn timeouts_are_added_to_the_options_of_the_address() {
        let address = PgAddress::parse("postgres://db/ship?options=-csearch_path%3Da").unwrap();
        let within = address.with_timeout(Duration::from_secs(2));
        let options = within.config.get_options().unwrap();
        assert!(options.starts_with("-csearch_path=a -c statement_timeout=2000 "), "{options}");
    }
}
