CREATE INDEX events_by_run ON events (run) WHERE run IS NOT NULL;

CREATE INDEX events_by_type ON events (type);

CREATE INDEX idempotency_by_run ON idempotency (run);

CREATE INDEX leases_by_step ON leases (run, step);

CREATE INDEX leases_by_worker ON leases (worker);

CREATE INDEX runs_by_pipeline ON runs (pipeline);

CREATE INDEX steps_failed ON steps (run, step) WHERE status = 'failed';

CREATE INDEX steps_running ON steps (run, step) WHERE status = 'running';

CREATE INDEX steps_timed_out ON steps (run, step) WHERE status = 'timed_out';

CREATE INDEX workers_by_name ON workers (name);

CREATE TABLE as_of (
    position   INTEGER NOT NULL,
    at         TEXT NOT NULL,
    written_at TEXT NOT NULL
) STRICT;

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

CREATE TABLE idempotency (
    key     TEXT PRIMARY KEY,
    status  TEXT NOT NULL CHECK (status IN ('pending', 'completed', 'failed')),
    run     TEXT NOT NULL,
    step    INTEGER NOT NULL,
    name    TEXT NOT NULL,
    at      TEXT NOT NULL,
    waiting INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE leader (
    term   INTEGER NOT NULL,
    since  TEXT NOT NULL,
    ttl_ms INTEGER NOT NULL,
    own    TEXT
) STRICT;

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

CREATE TABLE mark (
    writer INTEGER NOT NULL,
    write  INTEGER NOT NULL
) STRICT;

CREATE TABLE runs (
    run          TEXT PRIMARY KEY,
    pipeline     TEXT NOT NULL,
    status       TEXT NOT NULL CHECK
                     (status IN ('running', 'cancelling', 'succeeded', 'failed', 'cancelled', 'interrupted')),
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

CREATE TABLE windlass_format (name TEXT NOT NULL) STRICT;

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

CREATE VIEW failures AS
SELECT steps.run, runs.pipeline, steps.name AS step, steps.status, steps.attempt,
       cause.name AS cause
FROM steps
JOIN runs USING (run)
LEFT JOIN steps AS cause ON cause.run = steps.run AND cause.step = steps.cause
WHERE steps.status IN ('failed', 'timed_out', 'blocked');

CREATE VIEW lock_holders AS
SELECT lock.value AS lock, leases.run, steps.name AS step, workers.name AS worker, leases.granted_at,
       leases.fence
FROM leases, json_each(leases.locks) AS lock
LEFT JOIN steps ON steps.run = leases.run AND steps.step = leases.step
LEFT JOIN workers ON workers.worker = leases.worker;

CREATE VIEW running AS
SELECT leases.run, runs.pipeline, steps.name AS step, workers.name AS worker, leases.started_at,
       leases.attempt, leases.delivery, leases.stop, leases.fence
FROM leases
JOIN steps USING (run, step)
JOIN runs USING (run)
LEFT JOIN workers USING (worker)
WHERE steps.status = 'running';

CREATE VIEW waiting AS
SELECT steps.run, runs.pipeline, steps.name AS step, steps.status, steps.attempt
FROM steps
JOIN runs USING (run)
WHERE steps.status IN ('waiting', 'ready');

