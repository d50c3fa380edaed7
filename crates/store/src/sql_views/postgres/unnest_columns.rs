//! Converts rows to the columns that `UNNEST` takes.

use std::fmt;

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error};
use windlass_core::time::Time;

use crate::db::postgres::connection::PgParameter;
use crate::db::sql_number::to_sql;

/// Columns, each with the values of all rows.
pub(super) struct UnnestColumns<'a, R> {
    rows: &'a [R],
    columns: Vec<(Box<dyn ToSql + Sync + Send>, Type)>,
}

impl<'a, R> UnnestColumns<'a, R> {
    pub(super) const fn from_rows(rows: &'a [R]) -> Self {
        Self { rows, columns: Vec::new() }
    }

    pub(super) fn text<T: fmt::Display>(self, value: impl Fn(&R) -> T) -> Self {
        self.optional_text(|row| Some(value(row)))
    }

    pub(super) fn optional_text<T: fmt::Display>(self, value: impl Fn(&R) -> Option<T>) -> Self {
        let shown = |value: T| strip_zeros(value.to_string());
        let column: Vec<Option<String>> =
            self.rows.iter().map(|row| value(row).map(shown)).collect();
        self.with(column, Type::TEXT_ARRAY)
    }

    pub(super) fn number(self, value: impl Fn(&R) -> i64) -> Self {
        self.optional_number(|row| Some(value(row)))
    }

    pub(super) fn optional_number(self, value: impl Fn(&R) -> Option<i64>) -> Self {
        let column: Vec<Option<i64>> = self.rows.iter().map(value).collect();
        self.with(column, Type::INT8_ARRAY)
    }

    /// Times in milliseconds, which the statement converts.
    pub(super) fn time(self, value: impl Fn(&R) -> Time) -> Self {
        self.optional_time(|row| Some(value(row)))
    }

    pub(super) fn optional_time(self, value: impl Fn(&R) -> Option<Time>) -> Self {
        self.optional_number(|row| value(row).map(|time| to_sql(time.as_millis())))
    }

    fn with(mut self, column: impl ToSql + Sync + Send + 'static, of: Type) -> Self {
        self.columns.push((Box::new(column), of));
        self
    }

    /// Executes a statement with all rows, if there are any.
    pub(super) async fn write(self, client: &Client, statement: &str) -> Result<(), Error> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let parameters: Vec<PgParameter<'_>> =
            self.columns.iter().map(|(column, of)| (&**column as _, of.clone())).collect();
        client.query_typed(statement, &parameters).await.map(drop)
    }
}

/// Removes zero characters: text and JSON in the database cannot contain them, but names from workers can.
fn strip_zeros(text: String) -> String {
    if text.contains('\0') || text.contains("\\u0000") {
        return text.replace('\0', "\u{fffd}").replace("\\u0000", "\\ufffd");
    }
    text
}
