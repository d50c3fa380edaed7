//! Condemned runs, and the marks of starts.

use std::collections::BTreeSet;

use tokio_postgres::Client;
use tokio_postgres::types::Type;
use windlass_core::id::{RunId, Term};

use super::election::{PostgresElection, current_term};
use super::statement;
use crate::db::StoreError;
use crate::db::postgres::connection::{PgParameter, PgWork};
use crate::db::sql_number::{run_from_sql, run_to_sql, to_sql};
use crate::journal::StartMark;
use crate::journal::condemned::{CONDEMNED_MAX, too_many_condemned};

impl PostgresElection {
    pub(super) async fn condemned(&self) -> Result<BTreeSet<RunId>, StoreError> {
        let answer = self.line.call(|client| {
            Box::pin(async move { client.query_typed(statement::CONDEMNED, &[]).await })
        });
        Ok(answer.await?.iter().map(|row| run_from_sql(row.get(0))).collect())
    }

    pub(super) async fn condemn(
        &self,
        place: &str,
        term: Term,
        run: RunId,
    ) -> Result<(), StoreError> {
        let known = self.condemned().await?;
        if known.len() >= CONDEMNED_MAX && !known.contains(&run) {
            let (place, reason) = (place.to_owned(), too_many_condemned());
            return Err(StoreError::Unusable { place, reason });
        }
        match self.line.call(move |client| condemn(client, term, run)).await? {
            None => Ok(()),
            Some(current) => Err(StoreError::Stale { term, current }),
        }
    }

    pub(super) async fn start_marks(&self) -> Result<Vec<StartMark>, StoreError> {
        let answer = self.line.call(|client| {
            Box::pin(async move { client.query_typed(statement::STARTS, &[]).await })
        });
        let rows = answer.await?;
        let marks = rows.iter().map(|row| StartMark {
            node: row.get("node"),
            applying: row.get::<_, Option<i64>>("applying").map(run_from_sql),
        });
        Ok(marks.collect())
    }

    pub(super) async fn mark_start(&self, mark: StartMark) -> Result<(), StoreError> {
        let marked = self.line.call(move |client| {
            Box::pin(async move {
                let applying = mark.applying.map(run_to_sql);
                let row: [PgParameter<'_>; 2] = [(&mark.node, Type::TEXT), (&applying, Type::INT8)];
                client.query_typed(statement::MARK_START, &row).await
            })
        });
        marked.await.map(drop)
    }

    pub(super) async fn clear_start(&self, node: String) -> Result<(), StoreError> {
        let cleared = self.line.call(move |client| {
            Box::pin(async move {
                client.query_typed(statement::CLEAR_START, &[(&node, Type::TEXT)]).await
            })
        });
        cleared.await.map(drop)
    }
}

/// Condemns a run. Returns the newest term if the given one has passed.
fn condemn(client: &Client, term: Term, run: RunId) -> PgWork<'_, Option<Term>> {
    Box::pin(async move {
        let (under, run) = (to_sql(term.0), run_to_sql(run));
        client.batch_execute(statement::BEGIN).await?;
        let row: [PgParameter<'_>; 2] = [(&under, Type::INT8), (&run, Type::INT8)];
        let written = client.query_typed(statement::CONDEMN, &row).await?;
        let lasts = written.first().is_some_and(|row| row.get("lasts"));
        let stale = if lasts { None } else { Some(current_term(client).await?) };
        client.batch_execute("COMMIT").await?;
        Ok(stale)
    })
}
