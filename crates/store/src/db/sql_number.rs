//! Converts unsigned numbers to signed ones of databases, keeping their order.

use windlass_core::id::RunId;

/// The top bit of an id, which is the sign in databases.
const TOP: u64 = 1 << 63;

/// A position, a time or a number of things. What lies beyond the numbers of a database lies beyond all that there are.
pub fn to_sql(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// How ids are kept: in their order, though numbers are signed there.
pub const fn run_to_sql(run: RunId) -> i64 {
    (run.0 ^ TOP).cast_signed()
}

/// The run of a number in SQL.
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
