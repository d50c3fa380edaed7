//! Tables, and how they came to be what they are.

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error};

use super::line::{Line, Work};
use crate::store::StoreError;

/// Whoever changes tables holds this lock of the database until its transaction ends: of nodes that start at once one
/// does it, and the others find it done.
const LOCK: i64 = 0x7769_6e64_6c61_7373;

/// A store's tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tables {
    /// Whose they are.
    pub(crate) store: &'static str,
    /// What is done to get from each version to the next, beginning with nothing.
    pub(crate) migrations: &'static [&'static str],
}

/// Brings the tables to what this windlass knows, in one transaction: all of it or nothing.
pub(crate) async fn prepare(line: &Line, tables: Tables, place: &str) -> Result<(), StoreError> {
    let found = line.call(move |client| migrate(client, tables)).await?;
    let known = u32::try_from(tables.migrations.len()).unwrap_or(u32::MAX);
    if found > known {
        return Err(StoreError::Newer { place: place.to_owned(), found, known });
    }
    Ok(())
}

/// Returns the version that the tables had, if that is newer, or have now.
fn migrate(client: &Client, tables: Tables) -> Work<'_, u32> {
    Box::pin(async move {
        if let Some(version) = version(client, tables).await?
            && version as usize >= tables.migrations.len()
        {
            return Ok(version);
        }
        client.batch_execute(&format!("BEGIN; SELECT pg_advisory_xact_lock({LOCK})")).await?;
        client
            .batch_execute(
                "CREATE TABLE IF NOT EXISTS windlass_schema (
                    store text PRIMARY KEY, version integer NOT NULL)",
            )
            .await?;
        let found = version(client, tables).await?.unwrap_or(0);
        for migration in tables.migrations.iter().skip(found as usize) {
            client.batch_execute(migration).await?;
        }
        let known = u32::try_from(tables.migrations.len()).unwrap_or(u32::MAX);
        let now = found.max(known);
        let row = format!(
            "INSERT INTO windlass_schema (store, version) VALUES ('{}', {now})
             ON CONFLICT (store) DO UPDATE SET version = excluded.version",
            tables.store,
        );
        client.batch_execute(&row).await?;
        client.batch_execute("COMMIT").await?;
        Ok(now)
    })
}

/// The version of the tables; nothing where there are none.
async fn version(client: &Client, tables: Tables) -> Result<Option<u32>, Error> {
    let there =
        client.query_typed("SELECT to_regclass('windlass_schema') IS NOT NULL", &[]).await?;
    if !there.first().is_some_and(|row| row.get(0)) {
        return Ok(None);
    }
    let asked = "SELECT version FROM windlass_schema WHERE store = $1";
    let rows = client.query_typed(asked, &[(&tables.store, Type::TEXT)]).await?;
    let version = rows.first().map(|row| row.get::<_, i32>(0));
    Ok(version.map(|version| u32::try_from(version).unwrap_or(0)))
}
