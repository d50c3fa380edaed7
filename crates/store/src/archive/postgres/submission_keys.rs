//! The keys of submissions.

use std::sync::Arc;

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row};
use windlass_core::time::Time;

use super::statement;
use crate::archive::{SubmissionKeyClaim, SubmissionKeyOutcome};
use crate::db::StoreError;
use crate::db::postgres::connection::{PgConnection, PgParameter, PgWork};
use crate::db::postgres::failure;
use crate::db::sql_number::{run_from_sql, run_to_sql, to_sql};

/// Maximum retries if a key is pruned between the attempt to bind it and the lookup of its claim.
const BIND_TRIES_MAX: usize = 8;

/// Keys, on a connection of their own, because submissions wait for them.
#[derive(Debug)]
pub(super) struct PostgresSubmissionKeys {
    pub(super) line: PgConnection,
    pub(super) place: Arc<str>,
}

impl PostgresSubmissionKeys {
    pub(super) async fn list(
        &self,
        after: Option<String>,
        most: usize,
    ) -> Result<Vec<SubmissionKeyClaim>, StoreError> {
        let listed = self.line.call(move |client| {
            Box::pin(async move {
                let (after, most) = (after.as_deref().map(str::as_bytes), to_sql(most as u64));
                let parameters: [PgParameter<'_>; 2] = [(&after, Type::BYTEA), (&most, Type::INT8)];
                client.query_typed(statement::KEYS, &parameters).await
            })
        });
        let read = |row: &Row| {
            SubmissionKeyClaim::of(row).map_err(|what| failure::damaged(&self.place, what))
        };
        listed.await?.iter().map(read).collect()
    }

    pub(super) async fn claim(
        &self,
        claim: SubmissionKeyClaim,
    ) -> Result<SubmissionKeyOutcome, StoreError> {
        let claimed = self.line.call(move |client| bind(client, claim)).await?;
        let reason = "a key is bound and deleted repeatedly";
        claimed.ok_or_else(|| failure::unavailable(&self.place, reason))
    }
}

impl SubmissionKeyClaim {
    /// Reads the claim of a row, or describes the error.
    fn of(row: &Row) -> Result<Self, String> {
        let body: &[u8] = row.get("body");
        Ok(Self {
            key: String::from_utf8(row.get("key")).map_err(|error| error.to_string())?,
            body: body.try_into().map_err(|_| "a body of another size".to_owned())?,
            run: run_from_sql(row.get("run")),
            at: Time::from_millis(row.get::<_, i64>("at_ms").cast_unsigned()),
        })
    }
}

/// Two statements without a transaction: the second sees the claim that was committed since the first.
fn bind(client: &Client, claim: SubmissionKeyClaim) -> PgWork<'_, Option<SubmissionKeyOutcome>> {
    Box::pin(async move {
        let (key, body) = (claim.key.as_bytes(), &claim.body[..]);
        let (run, at) = (run_to_sql(claim.run), to_sql(claim.at.as_millis()));
        let row: [PgParameter<'_>; 4] =
            [(&key, Type::BYTEA), (&body, Type::BYTEA), (&run, Type::INT8), (&at, Type::INT8)];
        for _ in 0..BIND_TRIES_MAX {
            if !client.query_typed(statement::BIND, &row).await?.is_empty() {
                return Ok(Some(SubmissionKeyOutcome::New));
            }
            let bound = client.query_typed(statement::KEY, &[(&key, Type::BYTEA)]).await?;
            if let Some(bound) = bound.first() {
                let run = run_from_sql(bound.get("run"));
                let same = bound.get::<_, &[u8]>("body") == body;
                let known = if same {
                    SubmissionKeyOutcome::Known(run)
                } else {
                    SubmissionKeyOutcome::Conflict(run)
                };
                return Ok(Some(known));
            }
        }
        Ok(None)
    })
}
