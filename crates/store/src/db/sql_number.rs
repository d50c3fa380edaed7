//! Converts unsigned numbers to signed ones of databases, keeping their order.

use windlass_core::id::RunId;

/// The top bit of an id, which is the sign in databases.
const TOP: u64 = 1 << 63;

/// Converts a position, a time or a count. Numbers above the maximum of the database become the maximum; none occur.
pub fn to_sql(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Converts the id of a run and keeps the order of ids, although numbers are signed in databases.
pub const fn run_to_sql(run: RunId) -> i64 {
    (run.0 ^ TOP).cast_signed()
}

/// Converts a number of the database to the id of a run.
pub const fn run_from_sql(number: i64) -> RunId {
    RunId(number.cast_unsigned() ^ TOP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_keep_their_order_in_a_database() {
        let ids = [0, 1, RunId::new(1_790_000_000_000, 5).0, TOP - 1, TOP, u64::MAX];
        let kept = ids.map(|id| run_to_sql(RunId(id)));
        assert!(kept.is_sorted(), "{kept:?}");
        assert_eq!(kept.map(run_from_sql), ids.map(RunId));
    }
}
