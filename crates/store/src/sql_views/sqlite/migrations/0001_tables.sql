-- Derived from the journal by whoever leads, about once a second. Delete the file whenever you like: it is made anew.
-- Runs are texts, as every command prints them; steps are numbers within their run; times are UTC and sort as texts.

-- Every row is at least as new as this. No row here: the leader has begun and is not through yet.
-- `written_at` is by the clock of the machine and grows while the leader is there, also when nothing happens.
CREATE TABLE as_of (
    position   INTEGER NOT NULL,
    at         TEXT NOT NULL,
    written_at TEXT NOT NULL
) STRICT;

-- How the leader knows the tables as its own.
CREATE TABLE mark (
    writer INTEGER NOT NULL,
    write  INTEGER NOT NULL
) STRICT;

CREATE TABLE leader (
    term   INTEGER NOT NULL,
    since  TEXT NOT NULL,
    ttl_ms INTEGER NOT NULL,
    own    TEXT
) STRICT;

CREATE TABLE workers (
    worker      TEXT PRIMARY KEY,
    name        TEXT NOT NULL,
    status      TEXT NOT NULL CHECK (status IN ('online', 'draining', 'lost', 'ended')),
    since       TEXT NOT NULL,
    slots       INTEGER NOT NULL,
    leases      INTEGER NOT NULL,
    labels      TEXT NOT NULL CHECK (json_valid(labels)),
    incarnation INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX workers_by_name ON workers (name);

CREATE TABLE leases (
    fence       INTEGER PRIMARY KEY,
    run         TEXT NOT NULL,
    step        INTEGER NOT NULL,
    attempt     INTEGER NOT NULL,
    delivery    INTEGER NOT NULL,
    worker      TEXT NOT NULL,
    granted_at  TEXT NOT NULL,
    started_at  TEXT,
    stop        TEXT CHECK (stop IN ('term', 'kill')),
    stop_reason TEXT CHECK (stop_reason IN
                    ('run_cancelled', 'fail_fast', 'superseded', 'overdue', 'stale')),
    locks       TEXT NOT NULL CHECK (json_valid(locks))
) STRICT;

CREATE INDEX leases_by_step ON leases (run, step);
CREATE INDEX leases_by_worker ON leases (worker);

-- Runs that are not sealed; those that are, are in `archive.db`, where an id is its `number`.
CREATE TABLE runs (
    run          TEXT PRIMARY KEY,
    pipeline     TEXT NOT NULL,
    status       TEXT NOT NULL CHECK
                     (status IN ('running', 'cancelling', 'succeeded', 'failed', 'cancelled')),
    submitted_at TEXT NOT NULL,
    steps        INTEGER NOT NULL,
    waiting      INTEGER NOT NULL,
    ready        INTEGER NOT NULL,
    leased       INTEGER NOT NULL,
    running      INTEGER NOT NULL,
    succeeded    INTEGER NOT NULL,
    failed       INTEGER NOT NULL,
    timed_out    INTEGER NOT NULL,
    cancelled    INTEGER NOT NULL,
    skipped      INTEGER NOT NULL,
    blocked      INTEGER NOT NULL,
    cached       INTEGER NOT NULL,
    number       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX runs_by_pipeline ON runs (pipeline);

-- `fence` is the newest lease that the step ever had, `cause` the step whose failure ended it.
CREATE TABLE steps (
    run      TEXT NOT NULL,
    step     INTEGER NOT NULL,
    name     TEXT NOT NULL,
    status   TEXT NOT NULL CHECK (status IN
                 ('waiting', 'ready', 'leased', 'running', 'succeeded', 'failed', 'timed_out',
                  'cancelled', 'skipped', 'blocked', 'cached')),
    attempt  INTEGER NOT NULL,
    delivery INTEGER NOT NULL,
    fence    INTEGER,
    cause    INTEGER,
    PRIMARY KEY (run, step)
) STRICT, WITHOUT ROWID;

-- What is asked for most is rare among a million steps: an index of all statuses would double the writing.
CREATE INDEX steps_running ON steps (run, step) WHERE status = 'running';
CREATE INDEX steps_failed ON steps (run, step) WHERE status = 'failed';
CREATE INDEX steps_timed_out ON steps (run, step) WHERE status = 'timed_out';

-- The newest events. `event` is the whole of it, as the API shows it.
CREATE TABLE events (
    position INTEGER PRIMARY KEY,
    at       TEXT NOT NULL,
    type     TEXT NOT NULL,
    run      TEXT,
    step     INTEGER,
    worker   TEXT,
    fence    INTEGER,
    event    TEXT NOT NULL CHECK (json_valid(event))
) STRICT;

CREATE INDEX events_by_run ON events (run) WHERE run IS NOT NULL;
CREATE INDEX events_by_type ON events (type);

-- What runs, and where.
CREATE VIEW running AS
SELECT leases.run, runs.pipeline, steps.name AS step, workers.name AS worker, leases.started_at,
       leases.attempt, leases.delivery, leases.stop, leases.fence
FROM leases
JOIN steps USING (run, step)
JOIN runs USING (run)
LEFT JOIN workers USING (worker)
WHERE steps.status = 'running';

-- What does not run yet: `waiting` for needs or a retry, or `ready` for a worker, a slot or a lock.
CREATE VIEW waiting AS
SELECT steps.run, runs.pipeline, steps.name AS step, steps.status, steps.attempt
FROM steps
JOIN runs USING (run)
WHERE steps.status IN ('waiting', 'ready');

-- What went wrong, and because of what.
CREATE VIEW failures AS
SELECT steps.run, runs.pipeline, steps.name AS step, steps.status, steps.attempt,
       cause.name AS cause
FROM steps
JOIN runs USING (run)
LEFT JOIN steps AS cause ON cause.run = steps.run AND cause.step = steps.cause
WHERE steps.status IN ('failed', 'timed_out', 'blocked');

-- Who holds which lock.
CREATE VIEW lock_holders AS
SELECT lock.value AS lock, leases.run, steps.name AS step, workers.name AS worker, leases.granted_at,
       leases.fence
FROM leases, json_each(leases.locks) AS lock
LEFT JOIN steps ON steps.run = leases.run AND steps.step = leases.step
LEFT JOIN workers ON workers.worker = leases.worker;

-- What is done once under a key. `run`, `step` and `name` are of the step that is at it or did it last; its run may be
-- sealed by now. `at` is since when it is at it, or when it ended; `waiting` counts steps that wait for what comes of it.
CREATE TABLE idempotency (
    key     TEXT PRIMARY KEY,
    status  TEXT NOT NULL CHECK (status IN ('pending', 'completed', 'failed')),
    run     TEXT NOT NULL,
    step    INTEGER NOT NULL,
    name    TEXT NOT NULL,
    at      TEXT NOT NULL,
    waiting INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_by_run ON idempotency (run);
