//! Parameters of statements that outlive their caller.

use std::time::Duration;

use tokio_postgres::types::{ToSql, Type};
use windlass_store::db::postgres::connection::PgParameter;

/// A parameter of a statement with its type.
pub(super) type OwnedParameter = (Box<dyn ToSql + Sync + Send>, Type);

pub(super) fn as_parameter((value, kind): &OwnedParameter) -> PgParameter<'_> {
    (&**value, kind.clone())
}

pub(super) fn text(text: impl ToSql + Sync + Send + 'static) -> OwnedParameter {
    (Box::new(text), Type::TEXT)
}

pub(super) fn number(number: i64) -> OwnedParameter {
    (Box::new(number), Type::INT8)
}

pub(super) fn millis(term: Duration) -> OwnedParameter {
    (Box::new(term.as_secs_f64() * 1_000.0), Type::FLOAT8)
}

pub(super) fn sql_limit(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}
