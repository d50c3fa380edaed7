//! Every statement, one operation each.

/// Writes the line of a run and its first parts, unless it is there and its last event comes no earlier: then no row comes
/// back. The parts of a shorter history go. Those that another statement writes meanwhile are not seen here and stay; a
/// reader skips them, as the parts that follow have their events too.
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

/// Writes more parts of it.
pub(super) const KEEP_PARTS: &str = "
    INSERT INTO windlass_archive_chunks (number, last, follows, events)
    SELECT $1, part.last, part.follows, part.events
    FROM unnest($2, $3, $4) AS part (last, follows, events)
    ON CONFLICT (number, last) DO UPDATE SET follows = excluded.follows, events = excluded.events";

/// The line of a run.
pub(super) const RUN: &str = "SELECT * FROM windlass_archive WHERE number = $1";

/// A page of runs. Who plans it knows the values, so what is not asked for costs nothing.
///
/// Ids grow with the time of submission, but whoever submits has a clock of its own. So `since` does not end the page
/// at the first run that is older: it looks up the first run that is not, and the page ends there.
pub(super) const RUNS: &str = "
    SELECT * FROM windlass_archive
    WHERE ($1 IS NULL OR number < $1)
      AND ($2 IS NULL OR pipeline = $2)
      AND ($3 IS NULL OR status = $3)
      AND ($4 IS NULL OR submitted_ms >= $4 AND number >= (
            SELECT min(number) FROM (
                SELECT number FROM windlass_archive WHERE submitted_ms >= $4 OFFSET 0) AS since))
    ORDER BY number DESC LIMIT $5";

/// Where a run ends, with parts of its events that end behind a position: a row without a part if there is none.
pub(super) const PARTS: &str = "
    SELECT run.last AS end, part.last, part.follows, part.events
    FROM windlass_archive AS run LEFT JOIN LATERAL (
        SELECT last, follows, events FROM windlass_archive_chunks
        WHERE number = $1 AND last > $2 ORDER BY last LIMIT $3) AS part ON true
    WHERE run.number = $1 ORDER BY part.last";

/// Binds a key unless it is bound: then no row comes back.
pub(super) const BIND: &str = "
    INSERT INTO windlass_keys (key, body, run, at_ms) VALUES ($1, $2, $3, $4)
    ON CONFLICT (key) DO NOTHING RETURNING run";

/// What a key stands for.
pub(super) const KEY: &str = "SELECT body, run FROM windlass_keys WHERE key = $1";

/// Keys behind one, in the order of their bytes.
pub(super) const KEYS: &str = "
    SELECT key, body, run, at_ms FROM windlass_keys
    WHERE $1 IS NULL OR key > $1 ORDER BY key LIMIT $2";

/// The runs that ended first, before a time, and how large they are.
pub(super) const ENDED: &str = "
    SELECT number, events FROM windlass_archive
    WHERE ended_ms < $1 ORDER BY ended_ms, number LIMIT $2";

/// Drops runs, events and all.
pub(super) const DROP_RUNS: &str = "
    WITH dropped AS (DELETE FROM windlass_archive WHERE number = ANY ($1) RETURNING number)
    DELETE FROM windlass_archive_chunks AS part USING dropped WHERE part.number = dropped.number";

/// Drops keys that were bound before a time, the oldest first.
pub(super) const DROP_KEYS: &str = "
    DELETE FROM windlass_keys WHERE key IN (
        SELECT key FROM windlass_keys WHERE at_ms < $1 ORDER BY at_ms LIMIT $2)";
