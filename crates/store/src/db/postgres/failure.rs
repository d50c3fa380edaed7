//! Converts errors of PostgreSQL to errors of a store.

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use super::tls::PgTlsRefused;
use crate::db::StoreError;
pub use crate::db::failure::{damaged, unavailable, unreadable, unusable};

/// Converts an error of the server or the connection.
pub fn from_postgres(place: &str, error: &Error) -> StoreError {
    let reason = server_message(error);
    if let Some(why) = tls_refusal(error) {
        return unusable(place, why);
    }
    let Some(code) = error.code() else {
        // An error of the connection or the parameters: it is unknown whether the call took effect.
        return unavailable(place, reason);
    };
    match code {
        &SqlState::DISK_FULL => StoreError::Full { place: place.to_owned() },
        &SqlState::INVALID_PASSWORD
        | &SqlState::INVALID_AUTHORIZATION_SPECIFICATION
        | &SqlState::INVALID_CATALOG_NAME
        | &SqlState::INSUFFICIENT_PRIVILEGE
        | &SqlState::INVALID_SCHEMA_NAME => unusable(place, with_advice(code, &reason)),
        &SqlState::UNDEFINED_TABLE
        | &SqlState::UNDEFINED_COLUMN
        | &SqlState::DATA_CORRUPTED
        | &SqlState::INDEX_CORRUPTED
        | &SqlState::CHECK_VIOLATION => damaged(place, reason),
        // Another server may accept writes, and this one again later.
        &SqlState::READ_ONLY_SQL_TRANSACTION => unavailable(place, with_advice(code, &reason)),
        // Shutdowns, timeouts, deadlocks, too many connections: these may be temporary.
        _ => unavailable(place, reason),
    }
}

/// Returns a permanent reason why TLS with the server fails.
fn tls_refusal(error: &Error) -> Option<String> {
    let cause = std::error::Error::source(error)?;
    if let Some(refused) = cause.downcast_ref::<PgTlsRefused>() {
        return Some(refused.to_string());
    }
    let has_none = error.to_string().contains("TLS handshake")
        && cause.to_string().contains("server does not support TLS");
    has_none.then(|| {
        "it does not speak TLS, and its address asks for it: turn it on there (`ssl = on`), or say \
         sslmode=prefer"
            .to_owned()
    })
}

/// Returns the message of the server, if any: the driver itself says only "db error".
fn server_message(error: &Error) -> String {
    match error.as_db_error() {
        Some(said) => said.message().to_owned(),
        None => match std::error::Error::source(error) {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        },
    }
}

fn with_advice(code: &SqlState, reason: &str) -> String {
    let advice = match *code {
        SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            "check user and password in its address"
        }
        SqlState::INVALID_CATALOG_NAME => "create the database, or name another",
        SqlState::READ_ONLY_SQL_TRANSACTION => {
            "it is a standby or read-only, and is tried again; if it stays so, name the server that accepts writes"
        }
        _ => "give this user the right to create and use tables there",
    };
    format!("{reason}: {advice}")
}
