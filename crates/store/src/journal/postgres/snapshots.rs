//! Snapshots, and the pruning that they allow.

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, Row};

use super::statement;
use crate::db::StoreError;
use crate::db::frame_format::FrameFormat;
use crate::db::postgres::connection::{PgConnection, PgParameter, PgWork};
use crate::db::postgres::partition::PgPartitions;
use crate::db::sql_number::to_sql;
use crate::journal::interface::last_to_remove;
use crate::journal::{BatchId, JournalSnapshot, Position};

/// The size of a part in bytes.
const PART_BYTES: usize = 1 << 20;
/// The number of snapshots that are kept.
const KEPT_SNAPSHOTS: usize = 2;
/// The frame around a state. Its checksum covers all parts together.
const SNAPSHOT_PARTS: FrameFormat = FrameFormat { content: "a snapshot in parts", upcasts: &[] };

/// Snapshots and pruning, on a connection of their own: a snapshot of a hundred megabytes delays no append.
#[derive(Debug)]
pub(super) struct PostgresSnapshots {
    pub(super) line: PgConnection,
    pub(super) partitions: PgPartitions,
}

impl PostgresSnapshots {
    pub(super) async fn save(&self, snapshot: JournalSnapshot) -> Result<(), StoreError> {
        self.line.call(move |client| save(client, snapshot)).await
    }

    /// Returns the newest readable snapshot.
    pub(super) async fn newest(&self) -> Result<Option<JournalSnapshot>, StoreError> {
        self.line.call(|client| Box::pin(newest(client))).await
    }

    /// Returns the positions of the snapshots that do not match the journal.
    pub(super) async fn foreign(&self) -> Result<Vec<Position>, StoreError> {
        self.line.call(|client| Box::pin(foreign(client))).await
    }

    pub(super) async fn prune(&self, upto: Position) -> Result<Position, StoreError> {
        let pruned = self.line.call(move |client| prune(client, upto)).await?;
        self.drop_until(pruned).await?;
        Ok(pruned)
    }

    /// Drops the partitions whose events have all been pruned.
    async fn drop_until(&self, pruned: Position) -> Result<(), StoreError> {
        let partitions = self.partitions;
        let first = partitions.of_key(pruned.0 + 1);
        let there = self.line.call(move |client| Box::pin(partitions.numbers(client))).await?;
        let left = there.into_iter().filter(|number| *number < first);
        partitions.drop(&self.line, left.collect()).await
    }
}

fn save(client: &Client, snapshot: JournalSnapshot) -> PgWork<'_, ()> {
    Box::pin(async move {
        let bytes = SNAPSHOT_PARTS.encode(&snapshot.state);
        let parts = i32::try_from(bytes.len().div_ceil(PART_BYTES)).unwrap_or(i32::MAX);
        let (position, batch) = (to_sql(snapshot.position.0), snapshot.batch.0.cast_signed());
        client.batch_execute(statement::BEGIN).await?;
        let header: [PgParameter<'_>; 3] =
            [(&position, Type::INT8), (&batch, Type::INT8), (&parts, Type::INT4)];
        let begun = client.query_typed(statement::BEGIN_SNAPSHOT, &header).await?;
        if begun.is_empty() {
            // Another node has saved the same state.
            return client.batch_execute("ROLLBACK").await;
        }
        for (part, bytes) in bytes.chunks(PART_BYTES).enumerate() {
            let part = i32::try_from(part).unwrap_or(i32::MAX);
            let row: [PgParameter<'_>; 4] = [
                (&position, Type::INT8),
                (&batch, Type::INT8),
                (&part, Type::INT4),
                (&bytes, Type::BYTEA),
            ];
            client.query_typed(statement::WRITE_PART, &row).await?;
        }
        client.batch_execute(statement::TIDY_SNAPSHOTS).await?;
        client.batch_execute("COMMIT").await
    })
}

async fn newest(client: &Client) -> Result<Option<JournalSnapshot>, Error> {
    for (position, batch) in matching(client).await? {
        let (at, name) = (to_sql(position.0), batch.0.cast_signed());
        let parameters: [PgParameter<'_>; 2] = [(&at, Type::INT8), (&name, Type::INT8)];
        let rows = client.query_typed(statement::PARTS, &parameters).await?;
        let bytes: Vec<u8> = rows.iter().flat_map(|row| row.get::<_, &[u8]>(0)).copied().collect();
        if let Ok(state) = SNAPSHOT_PARTS.decode(&bytes) {
            return Ok(Some(JournalSnapshot { position, batch, state: state.into_owned() }));
        }
    }
    Ok(None)
}

/// Prunes at most up to the older of two snapshots.
fn prune(client: &Client, upto: Position) -> PgWork<'_, Position> {
    Box::pin(async move {
        let older = matching(client).await?.get(KEPT_SNAPSHOTS - 1).map(|(position, _)| *position);
        let upto = to_sql(upto.min(last_to_remove(older)).0);
        let pruned = client.query_typed(statement::PRUNE, &[(&upto, Type::INT8)]).await?;
        Ok(Position(pruned.first().map_or(0, |row| row.get::<_, i64>(0)).cast_unsigned()))
    })
}

/// Returns the snapshots that match the journal, the newest first.
async fn matching(client: &Client) -> Result<Vec<(Position, BatchId)>, Error> {
    let rows = client.query_typed(statement::SNAPSHOTS, &[]).await?;
    let number = |row: &Row, at: usize| row.get::<_, i64>(at).cast_unsigned();
    Ok(rows.iter().map(|row| (Position(number(row, 0)), BatchId(number(row, 1)))).collect())
}

async fn foreign(client: &Client) -> Result<Vec<Position>, Error> {
    let rows = client.query_typed(statement::FOREIGN_SNAPSHOTS, &[]).await?;
    Ok(rows.iter().map(|row| Position(row.get::<_, i64>(0).cast_unsigned())).collect())
}
