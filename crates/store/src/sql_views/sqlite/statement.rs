//! The SQL statements, one operation each.

/// Selects the mark of the writer.
pub(super) const MARK: &str = "SELECT writer, write FROM mark";

/// Empties every table.
pub(super) const CLEAR: &str = "
    DELETE FROM as_of; DELETE FROM leader; DELETE FROM workers; DELETE FROM leases;
    DELETE FROM runs; DELETE FROM steps; DELETE FROM idempotency; DELETE FROM events";

pub(super) const DROP_MARK: &str = "DELETE FROM mark";
pub(super) const PUT_MARK: &str = "INSERT INTO mark (writer, write) VALUES (?1, ?2)";

pub(super) const DROP_AS_OF: &str = "DELETE FROM as_of";
pub(super) const PUT_AS_OF: &str = "
    INSERT INTO as_of (position, at, written_at)
    VALUES (?1, ?2, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))";

pub(super) const DROP_LEADER: &str = "DELETE FROM leader";
pub(super) const PUT_LEADER: &str = "
    INSERT INTO leader (term, since, ttl_ms, own) VALUES (?1, ?2, ?3, ?4)";

pub(super) const DROP_WORKER: &str = "DELETE FROM workers WHERE worker = ?1";
pub(super) const PUT_WORKER: &str = "
    REPLACE INTO workers (worker, name, status, since, slots, leases, labels, incarnation)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";

pub(super) const DROP_LEASE: &str = "DELETE FROM leases WHERE fence = ?1";
pub(super) const PUT_LEASE: &str = "
    REPLACE INTO leases (fence, run, step, attempt, delivery, worker, granted_at, started_at, stop,
                         stop_reason, locks)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";

pub(super) const DROP_RUN: &str = "DELETE FROM runs WHERE run = ?1";
pub(super) const PUT_RUN: &str = "
    REPLACE INTO runs (run, pipeline, status, submitted_at, steps, number, waiting, ready, leased,
                       running, succeeded, failed, timed_out, cancelled, skipped, blocked, cached)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)";

pub(super) const DROP_STEPS: &str = "DELETE FROM steps WHERE run = ?1";
pub(super) const PUT_STEP: &str = "
    INSERT INTO steps (run, step, name, status, attempt, delivery, fence, cause)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
    ON CONFLICT (run, step) DO UPDATE SET status = excluded.status, attempt = excluded.attempt,
        delivery = excluded.delivery, fence = excluded.fence, cause = excluded.cause";

pub(super) const DROP_KEY: &str = "DELETE FROM idempotency WHERE key = ?1";
pub(super) const PUT_KEY: &str = "
    REPLACE INTO idempotency (key, status, run, step, name, at, waiting)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

pub(super) const DROP_EVENTS: &str = "DELETE FROM events WHERE position <= ?1";
pub(super) const PUT_EVENT: &str = "
    REPLACE INTO events (position, at, type, run, step, worker, fence, event)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
