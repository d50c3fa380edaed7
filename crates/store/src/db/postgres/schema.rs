//! Creates and migrates tables.

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error};

use super::connection::{PgConnection, PgWork};
use crate::db::StoreError;
use crate::db::format::{STORE_FORMAT, UNNAMED_FORMAT};

/// The advisory lock of the database for changes of tables: of nodes that start at once, one migrates.
const LOCK: i64 = 0x7769_6e64_6c61_7373;

/// The tables of a store.
#[derive(Clone, Copy, Debug)]
pub struct PgSchema {
    /// The name of the store.
    pub store: &'static str,
    /// The migrations, beginning with the creation of the tables. The version is the number of applied migrations.
    pub migrations: &'static [&'static str],
}

/// The version of a store's tables, and the name of their format.
struct PgSchemaVersion {
    version: u32,
    format: String,
}

/// Migrates the tables to the current version in one transaction, or refuses tables of another format or a newer version.
pub async fn migrate_or_refuse(
    line: &PgConnection,
    tables: PgSchema,
    place: &str,
) -> Result<(), StoreError> {
    let PgSchemaVersion { version: found, format } =
        line.call(move |client| migrate(client, tables)).await?;
    if format != STORE_FORMAT {
        return Err(StoreError::OtherFormat { place: place.to_owned(), found: format });
    }
    let known = u32::try_from(tables.migrations.len()).unwrap_or(u32::MAX);
    if found > known {
        let (place, content) = (place.to_owned(), "its schema");
        return Err(StoreError::Newer { place, content, found, known });
    }
    Ok(())
}

/// Migrates the tables if possible and needed, and returns their version.
fn migrate(client: &Client, tables: PgSchema) -> PgWork<'_, PgSchemaVersion> {
    Box::pin(async move {
        if let Some(found) = version(client, tables).await?
            && is_final(&found, tables)
        {
            return Ok(found);
        }
        client.batch_execute(&format!("BEGIN; SELECT pg_advisory_xact_lock({LOCK})")).await?;
        client
            .batch_execute(
                "CREATE TABLE IF NOT EXISTS windlass_schema (
                    store text PRIMARY KEY, version integer NOT NULL, format text NOT NULL)",
            )
            .await?;
        let found = version(client, tables).await?;
        // Another node may have migrated them meanwhile.
        if let Some(found) = found
            && is_final(&found, tables)
        {
            client.batch_execute("ROLLBACK").await?;
            return Ok(found);
        }
        let migrated = apply(client, tables).await?;
        client.batch_execute("COMMIT").await?;
        Ok(migrated)
    })
}

/// Whether the tables cannot or need not be migrated: they are current or newer, or have another format.
fn is_final(found: &PgSchemaVersion, tables: PgSchema) -> bool {
    found.format != STORE_FORMAT || found.version as usize >= tables.migrations.len()
}

/// Applies the missing migrations in the caller's transaction.
async fn apply(client: &Client, tables: PgSchema) -> Result<PgSchemaVersion, Error> {
    let seen = version(client, tables).await?.map_or(0, |found| found.version);
    for migration in tables.migrations.iter().skip(seen as usize) {
        client.batch_execute(migration).await?;
    }
    let version = u32::try_from(tables.migrations.len()).unwrap_or(u32::MAX);
    let row = format!(
        "INSERT INTO windlass_schema (store, version, format) VALUES ('{}', {version}, '{STORE_FORMAT}')
         ON CONFLICT (store) DO UPDATE SET version = excluded.version",
        tables.store,
    );
    client.batch_execute(&row).await?;
    Ok(PgSchemaVersion { version, format: STORE_FORMAT.to_owned() })
}

/// The version of the tables; `None` if there are none. The column `format` is read as JSON because tables of another
/// format may not have it.
async fn version(client: &Client, tables: PgSchema) -> Result<Option<PgSchemaVersion>, Error> {
    let there =
        client.query_typed("SELECT to_regclass('windlass_schema') IS NOT NULL", &[]).await?;
    if !there.first().is_some_and(|row| row.get(0)) {
        return Ok(None);
    }
    let sql = "SELECT version, to_jsonb(it)->>'format' FROM windlass_schema it WHERE store = $1";
    let rows = client.query_typed(sql, &[(&tables.store, Type::TEXT)]).await?;
    let found = rows.first().map(|row| PgSchemaVersion {
        version: u32::try_from(row.get::<_, i32>(0)).unwrap_or(0),
        format: row.get::<_, Option<String>>(1).unwrap_or_else(|| UNNAMED_FORMAT.to_owned()),
    });
    Ok(found)
}
