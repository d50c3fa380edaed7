//! The SQL statements, one operation each.

/// Writes the row of a run and its first chunks. No row comes back if the archive has a history of the run that is at least
/// as long. Chunks of a shorter history are deleted. Chunks that another statement writes meanwhile stay; a reader skips
/// them, because later chunks contain their events too.
pub(super) const KEEP: &str = "
    WITH kept AS (
        INSERT INTO windlass_archive (number, run, pipeline, status, submitted_ms, ended_ms, steps,
                                      events, last, workers)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
        ON CONFLICT (number) DO UPDATE SET
            pipeline = excluded.pipeline, status = excluded.status,
            submitted_ms = excluded.submitted_ms, ended_ms = excluded.ended_ms,
            steps = excluded.steps, events = excluded.events, last = excluded.last,
            workers = excluded.workers
        WHERE excluded.last > windlass_archive.last
        RETURNING number),
    replaced AS (
        DELETE FROM windlass_archive_chunks AS part USING kept
        WHERE part.number = kept.number AND part.last <> ALL ($11)),
    written AS (
        INSERT INTO windlass_archive_chunks (number, last, follows, events)
        SELECT kept.number, part.last, part.follows, part.events
        FROM kept, unnest($11, $12, $13) AS part (last, follows, events)
        ON CONFLICT (number, last) DO UPDATE SET follows = excluded.follows, events = excluded.events)
    SELECT number FROM kept";

/// Writes more chunks of a run.
pub(super) const KEEP_PARTS: &str = "
    INSERT INTO windlass_archive_chunks (number, last, follows, events)
    SELECT $1, part.last, part.follows, part.events
    FROM unnest($2, $3, $4) AS part (last, follows, events)
    ON CONFLICT (number, last) DO UPDATE SET follows = excluded.follows, events = excluded.events";

/// Selects the row of a run.
pub(super) const RUN: &str = "SELECT * FROM windlass_archive WHERE number = $1";

/// Selects a page of runs. The planner knows the values, so absent filters cost nothing.
///
/// Ids grow with the time of submission, but each client has a clock of its own. So `since` does not end the page at the
/// first older run: it looks up the first run that is not older, and the page ends there.
pub(super) const RUNS: &str = "
    SELECT * FROM windlass_archive
    WHERE ($1 IS NULL OR number < $1)
      AND ($2 IS NULL OR pipeline = $2)
      AND ($3 IS NULL OR status = $3)
      AND ($4 IS NULL OR submitted_ms >= $4 AND number >= (
            SELECT min(number) FROM (
                SELECT number FROM windlass_archive WHERE submitted_ms >= $4 OFFSET 0) AS since))
    ORDER BY number DESC LIMIT $5";

/// Selects the end of a run, and its chunks that end after a position; one row without a chunk if there is none.
pub(super) const PARTS: &str = "
    SELECT run.last AS end, part.last, part.follows, part.events
    FROM windlass_archive AS run LEFT JOIN LATERAL (
        SELECT last, follows, events FROM windlass_archive_chunks
        WHERE number = $1 AND last > $2 ORDER BY last LIMIT $3) AS part ON true
    WHERE run.number = $1 ORDER BY part.last";

/// Binds a key; no row comes back if it is bound already.
pub(super) const BIND: &str = "
    INSERT INTO windlass_keys (key, body, run, at_ms) VALUES ($1, $2, $3, $4)
    ON CONFLICT (key) DO NOTHING RETURNING run";

/// Selects the claim of a key.
pub(super) const KEY: &str = "SELECT body, run FROM windlass_keys WHERE key = $1";

/// Selects keys after another one, in the order of their bytes.
pub(super) const KEYS: &str = "
    SELECT key, body, run, at_ms FROM windlass_keys
    WHERE $1 IS NULL OR key > $1 ORDER BY key LIMIT $2";

/// Selects the runs that ended first, before a time, and their sizes.
pub(super) const ENDED: &str = "
    SELECT number, events FROM windlass_archive
    WHERE ended_ms < $1 ORDER BY ended_ms, number LIMIT $2";

/// Deletes runs with their events.
pub(super) const DROP_RUNS: &str = "
    WITH dropped AS (DELETE FROM windlass_archive WHERE number = ANY ($1) RETURNING number)
    DELETE FROM windlass_archive_chunks AS part USING dropped WHERE part.number = dropped.number";

/// Deletes keys that were bound before a time, the oldest first.
pub(super) const DROP_KEYS: &str = "
    DELETE FROM windlass_keys WHERE key IN (
        SELECT key FROM windlass_keys WHERE at_ms < $1 ORDER BY at_ms LIMIT $2)";
