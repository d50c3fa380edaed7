//! The row of the leader, which holds the term and its lease.

use tokio_postgres::{Client, Error, Row};
use windlass_core::id::Term;
use windlass_core::leader::TermRecord;
use windlass_core::time::Span;

use super::statement;
use crate::journal::{CampaignOutcome, CurrentLeader};

/// The result of a look at the row of the leader.
pub(super) struct PostgresLeaderRow {
    leading: CurrentLeader,
    pub(super) mark: TermRecord,
    /// Whether the term has not expired by the clock of the database.
    pub(super) lasts: bool,
}

/// The mark of a store that had no leader yet.
pub(super) const NO_TERM: TermRecord = TermRecord { term: Term(0), revision: 0, lasts: Span::ZERO };

/// Returns the current leader, if its term has not expired by the clock of the database.
pub(super) async fn leader(client: &Client) -> Result<Option<CurrentLeader>, Error> {
    Ok(read_leader_row(client).await?.filter(|looked| looked.lasts).map(|looked| looked.leading))
}

/// Reads the row of the leader.
pub(super) async fn read_leader_row(client: &Client) -> Result<Option<PostgresLeaderRow>, Error> {
    let rows = client.query_typed(statement::LEADER, &[]).await?;
    Ok(rows.first().map(PostgresLeaderRow::read))
}

impl PostgresLeaderRow {
    fn read(row: &Row) -> Self {
        let number = |name: &str| row.get::<_, i64>(name).cast_unsigned();
        Self {
            leading: CurrentLeader { node: row.get("node"), address: row.get("address") },
            mark: TermRecord {
                term: Term(number("term")),
                revision: number("beat"),
                lasts: Span::millis(number("lasts_ms")),
            },
            lasts: row.get("lasts"),
        }
    }

    /// Reads the row of the leader after a lost campaign; the row is never deleted.
    pub(super) const fn nothing() -> Self {
        let leading = CurrentLeader { node: String::new(), address: None };
        Self { leading, mark: NO_TERM, lasts: false }
    }

    pub(super) fn led_by(self) -> CampaignOutcome {
        let CurrentLeader { node, address } = self.leading;
        CampaignOutcome::LedBy { node, pid: None, address }
    }
}
