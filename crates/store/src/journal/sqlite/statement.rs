//! The SQL statements that are run repeatedly, one operation each.

/// Selects the position of the last event, or zero.
pub(super) const HEAD: &str = "SELECT coalesce(max(position), 0) FROM journal";

/// Selects the first batch that ends after a position, without its events.
pub(super) const NEXT_BATCH: &str = "
    SELECT position, first, term, batch FROM journal
    WHERE position > ?1 ORDER BY position LIMIT 1";

/// Selects the name of the batch that ends at a position.
pub(super) const BATCH_AT: &str = "SELECT batch FROM journal WHERE position = ?1";

/// Selects batches that end after a position, without a limit: the reader stops when it has enough.
pub(super) const TAIL: &str = "
    SELECT position, first, term, batch, events FROM journal
    WHERE position > ?1 ORDER BY position";

/// Writes a batch.
pub(super) const WRITE_BATCH: &str = "
    INSERT INTO journal (position, first, term, batch, events) VALUES (?1, ?2, ?3, ?4, ?5)";

/// Selects the position up to which events have been pruned.
pub(super) const PRUNED: &str = "SELECT upto FROM pruned WHERE id = 1";

/// Selects the last batch that ends at a position or before; never the last batch of all.
pub(super) const LAST_TO_PRUNE: &str = "
    SELECT max(position) FROM (
        SELECT position FROM journal
        WHERE position <= ?1 AND position < (SELECT max(position) FROM journal)
        ORDER BY position LIMIT ?2)";

/// Deletes batches up to a position.
pub(super) const PRUNE: &str = "DELETE FROM journal WHERE position <= ?1";

/// Records the position up to which events have been pruned.
pub(super) const NOTE_PRUNED: &str = "UPDATE pruned SET upto = ?1 WHERE id = 1";

/// Selects the current or last leader.
pub(super) const LEADER: &str = "SELECT term, node, pid, address FROM leader WHERE id = 1";

/// Takes the next term. If terms may have been lost, the next one is at least the time in milliseconds. It is greater than
/// any earlier term, because terms are won more slowly than time passes.
pub(super) const TAKE_TERM: &str = "
    INSERT INTO leader (id, term, node, pid, address, since) 
    VALUES (1, max(1, ?5), ?1, ?2, ?3, ?4)
    ON CONFLICT (id) DO UPDATE SET
        term = max(term + 1, ?5), node = excluded.node, pid = excluded.pid,
        address = excluded.address, since = excluded.since
    RETURNING term";

/// Continues the term numbers of another journal.
pub(super) const RAISE_TERM: &str = "UPDATE leader SET term = ?1 WHERE id = 1 AND term < ?1";

/// Selects the runs that an operator has condemned.
pub(super) const CONDEMNED: &str = "SELECT run FROM condemned ORDER BY run";

/// Condemns a run.
pub(super) const CONDEMN: &str = "INSERT INTO condemned (run) VALUES (?1) ON CONFLICT DO NOTHING";

/// All statements, for the test that prepares each.
#[cfg(test)]
pub(super) const ALL: [&str; 14] = [
    HEAD,
    BATCH_AT,
    NEXT_BATCH,
    TAIL,
    WRITE_BATCH,
    PRUNED,
    LAST_TO_PRUNE,
    PRUNE,
    NOTE_PRUNED,
    LEADER,
    TAKE_TERM,
    RAISE_TERM,
    CONDEMNED,
    CONDEMN,
];
