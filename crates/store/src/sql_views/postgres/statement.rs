//! The SQL statements, one operation each.

/// Selects the mark of the writer, and locks the tables until the transaction ends.
pub(super) const MARK: &str = "SELECT writer, write FROM windlass_as_of WHERE id = 1 FOR UPDATE";

/// Whether this term is the newest; no node takes the next one before the transaction ends.
pub(super) const LEADS: &str =
    "SELECT term FROM windlass_leader WHERE id = 1 AND term = $1 FOR SHARE";

/// Turns off waiting for the disk, because tables lost in a crash are rebuilt; then empties every table.
pub(super) const BEGIN: &str = "BEGIN; SET LOCAL synchronous_commit = off";
pub(super) const CLEAR: &str = "
    DELETE FROM windlass_workers; DELETE FROM windlass_leases; DELETE FROM windlass_open_runs;
    DELETE FROM windlass_open_steps; DELETE FROM windlass_idempotency;
    DELETE FROM windlass_recent_events;
    UPDATE windlass_as_of SET position = NULL, at = NULL, ttl = NULL, own = NULL";

pub(super) const PUT_MARK: &str = "UPDATE windlass_as_of SET writer = $1, write = $2";
pub(super) const PUT_AS_OF: &str = "
    UPDATE windlass_as_of
    SET position = $1, at = to_timestamp($2 / 1000.0), written_at = clock_timestamp()";
pub(super) const PUT_LEADER: &str = "
    UPDATE windlass_as_of SET ttl = $1 * interval '1 millisecond', own = $2";

pub(super) const DROP_WORKERS: &str = "DELETE FROM windlass_workers WHERE worker = ANY ($1)";
pub(super) const PUT_WORKERS: &str = "
    INSERT INTO windlass_workers (worker, name, status, since, slots, leases, labels, incarnation)
    SELECT worker, name, status, to_timestamp(since / 1000.0), slots, leases, labels::jsonb,
           incarnation
    FROM unnest($1, $2, $3, $4, $5, $6, $7, $8)
        AS put (worker, name, status, since, slots, leases, labels, incarnation)
    ON CONFLICT (worker) DO UPDATE SET
        name = excluded.name, status = excluded.status, since = excluded.since,
        slots = excluded.slots, leases = excluded.leases, labels = excluded.labels,
        incarnation = excluded.incarnation";
pub(super) const PUT_HEARD: &str = "
    UPDATE windlass_workers AS it SET heard = to_timestamp(put.heard / 1000.0)
    FROM unnest($1, $2) AS put (worker, heard) WHERE it.worker = put.worker";

pub(super) const DROP_LEASES: &str = "DELETE FROM windlass_leases WHERE fence = ANY ($1)";
pub(super) const PUT_LEASES: &str = "
    INSERT INTO windlass_leases (fence, run, step, attempt, delivery, worker, acquired, expires,
                                 started, stop, stop_reason, locks)
    SELECT fence, run, step, attempt, delivery, worker, to_timestamp(acquired / 1000.0),
           to_timestamp(expires / 1000.0), to_timestamp(started / 1000.0), stop, stop_reason,
           locks::jsonb
    FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
        AS put (fence, run, step, attempt, delivery, worker, acquired, expires, started, stop,
                stop_reason, locks)
    ON CONFLICT (run, step) DO UPDATE SET
        fence = excluded.fence, attempt = excluded.attempt, delivery = excluded.delivery,
        worker = excluded.worker, acquired = excluded.acquired, expires = excluded.expires,
        started = excluded.started, stop = excluded.stop, stop_reason = excluded.stop_reason,
        locks = excluded.locks";
pub(super) const PUT_EXPIRES: &str = "
    UPDATE windlass_leases AS it SET expires = to_timestamp(put.expires / 1000.0)
    FROM unnest($1, $2) AS put (fence, expires) WHERE it.fence = put.fence";

pub(super) const DROP_STEPS: &str = "DELETE FROM windlass_open_steps WHERE run = ANY ($1)";
pub(super) const DROP_RUNS: &str = "DELETE FROM windlass_open_runs WHERE run = ANY ($1)";
pub(super) const PUT_RUNS: &str = "
    INSERT INTO windlass_open_runs (
        run, number, pipeline, status, submitted, steps, waiting, ready, leased, running, succeeded,
        failed, timed_out, cancelled, skipped, blocked, cached)
    SELECT run, number, pipeline, status, to_timestamp(submitted / 1000.0), steps, waiting, ready,
        leased, running, succeeded, failed, timed_out, cancelled, skipped, blocked, cached
    FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17) AS put (
        run, number, pipeline, status, submitted, steps, waiting, ready, leased, running, succeeded,
        failed, timed_out, cancelled, skipped, blocked, cached)
    ON CONFLICT (run) DO UPDATE SET
        status = excluded.status, waiting = excluded.waiting, ready = excluded.ready,
        leased = excluded.leased, running = excluded.running, succeeded = excluded.succeeded,
        failed = excluded.failed, timed_out = excluded.timed_out, cancelled = excluded.cancelled,
        skipped = excluded.skipped, blocked = excluded.blocked, cached = excluded.cached";
pub(super) const PUT_STEPS: &str = "
    INSERT INTO windlass_open_steps (run, step, name, status, attempt, delivery, fence, cause)
    SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8)
    ON CONFLICT (run, step) DO UPDATE SET
        status = excluded.status, attempt = excluded.attempt, delivery = excluded.delivery,
        fence = excluded.fence, cause = excluded.cause";

pub(super) const DROP_KEYS: &str = "DELETE FROM windlass_idempotency WHERE key = ANY ($1)";
pub(super) const PUT_KEYS: &str = "
    INSERT INTO windlass_idempotency (key, status, run, step, name, at, waiting)
    SELECT key, status, run, step, name, to_timestamp(at / 1000.0), waiting
    FROM unnest($1, $2, $3, $4, $5, $6, $7) AS put (key, status, run, step, name, at, waiting)
    ON CONFLICT (key) DO UPDATE SET
        status = excluded.status, run = excluded.run, step = excluded.step, name = excluded.name,
        at = excluded.at, waiting = excluded.waiting";

pub(super) const PUT_EVENTS: &str = "
    INSERT INTO windlass_recent_events (position, at, type, run, step, worker, fence, event)
    SELECT position, to_timestamp(at / 1000.0), type, run, step, worker, fence, event::jsonb
    FROM unnest($1, $2, $3, $4, $5, $6, $7, $8)
        AS put (position, at, type, run, step, worker, fence, event)
    ON CONFLICT (position) DO NOTHING";
pub(super) const DROP_EVENTS: &str = "DELETE FROM windlass_recent_events WHERE position <= $1";
