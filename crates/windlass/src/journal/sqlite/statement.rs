//! Every statement that is run again and again, one operation each.

/// The position of the last event; zero if there is none.
pub(super) const HEAD: &str = "SELECT coalesce(max(position), 0) FROM journal";

/// The batch that ends first behind a position, without its events.
pub(super) const NEXT_BATCH: &str = "
    SELECT position, first, term, batch FROM journal
    WHERE position > ?1 ORDER BY position LIMIT 1";

/// Batches that end behind a position. Without a limit: the reader stops when it has enough.
pub(super) const TAIL: &str = "
    SELECT position, first, term, batch, events FROM journal
    WHERE position > ?1 ORDER BY position";

/// Writes a batch.
pub(super) const WRITE_BATCH: &str = "
    INSERT INTO journal (position, first, term, batch, events) VALUES (?1, ?2, ?3, ?4, ?5)";

/// Who leads, or did last.
pub(super) const LEADER: &str = "SELECT term, node, pid, address FROM leader WHERE id = 1";

/// Takes the next term.
pub(super) const TAKE_TERM: &str = "
    INSERT INTO leader (id, term, node, pid, address, since) VALUES (1, 1, ?1, ?2, ?3, ?4)
    ON CONFLICT (id) DO UPDATE SET
        term = term + 1, node = excluded.node, pid = excluded.pid,
        address = excluded.address, since = excluded.since
    RETURNING term";

/// All of them, for the test that prepares each.
#[cfg(test)]
pub(super) const ALL: [&str; 6] = [HEAD, NEXT_BATCH, TAIL, WRITE_BATCH, LEADER, TAKE_TERM];
