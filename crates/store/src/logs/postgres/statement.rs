//! The SQL statements, one operation each. The first five parameters name a log.

/// Begins a log with its first bytes; no row comes back if it exists. $10 says whether the commit waits for the disk.
pub(super) const BEGIN: &str = "
    WITH begun AS (
        INSERT INTO windlass_logs (run, step, attempt, delivery, stream, size)
        VALUES ($1, $2, $3, $4, $5, $6 + $7) ON CONFLICT DO NOTHING RETURNING id)
    INSERT INTO windlass_log_chunks (log, at, bytes)
    SELECT begun.id, piece.at, piece.bytes FROM begun, unnest($8, $9) AS piece (at, bytes)
    RETURNING set_config('synchronous_commit', $10, true)";

/// Adds to a log of the size that its sender expects; otherwise no row comes back. $10 says whether the commit waits for
/// the disk.
pub(super) const GROW: &str = "
    WITH grown AS (
        UPDATE windlass_logs SET size = $6 + $7
        WHERE run = $1 AND step = $2 AND attempt = $3 AND delivery = $4 AND stream = $5 AND size = $6
        RETURNING id)
    INSERT INTO windlass_log_chunks (log, at, bytes)
    SELECT grown.id, piece.at, piece.bytes FROM grown, unnest($8, $9) AS piece (at, bytes)
    RETURNING set_config('synchronous_commit', $10, true)";

/// Selects the size of a log.
pub(super) const SIZE: &str = "
    SELECT size FROM windlass_logs
    WHERE run = $1 AND step = $2 AND attempt = $3 AND delivery = $4 AND stream = $5";

/// Selects the size of a log, and the pieces with bytes of a range, cut to it; one row without a piece if there is none.
pub(super) const READ: &str = "
    SELECT head.size, piece.bytes
    FROM windlass_logs AS head LEFT JOIN LATERAL (
        SELECT at, substring(bytes FROM least(greatest($6 - at, 0), 1 << 30)::integer + 1
                                   FOR ($7 - greatest(at, $6))::integer) AS bytes
        FROM windlass_log_chunks
        WHERE log = head.id AND at < $7 AND at >= (
            SELECT coalesce(max(at), 0) FROM windlass_log_chunks
            WHERE log = head.id AND at <= $6)) AS piece ON true
    WHERE run = $1 AND step = $2 AND attempt = $3 AND delivery = $4 AND stream = $5
    ORDER BY piece.at";

/// Selects the logs of a run.
pub(super) const LIST: &str = "
    SELECT step, attempt, delivery, stream, size FROM windlass_logs WHERE run = $1";

/// Selects runs with logs, and the total bytes of each.
pub(super) const RUNS: &str = "
    SELECT run, sum(size)::bigint AS size FROM windlass_logs GROUP BY run ORDER BY run";

/// Deletes the logs of a run; their bytes stay in their partitions.
pub(super) const REMOVE: &str = "DELETE FROM windlass_logs WHERE run = $1 RETURNING id";

/// Takes the next log id.
pub(super) const NEXT_ID: &str = "SELECT nextval('windlass_log_ids')";

/// Selects the last log id that was taken.
pub(super) const LAST_ID: &str = "SELECT last_value FROM windlass_log_ids";

/// Selects, of partitions with these first and next ids, the first ids of those without logs.
pub(super) const EMPTY: &str = "
    SELECT book.first FROM unnest($1, $2) AS book (first, next)
    WHERE NOT EXISTS (
        SELECT FROM windlass_logs WHERE id >= book.first AND id < book.next)";
