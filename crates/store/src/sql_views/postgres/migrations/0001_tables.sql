-- The leader derives these tables from the journal about once a second; no decision reads them. Ids of runs are text,
-- as every command prints them; steps are numbers within their run. `windlass_leader` is a table of the journal.

-- Every row is at least as new as this. Without a position, the leader has not finished the first write. `written_at`
-- is by the clock of the database and grows while the leader works, even if no event happens.
CREATE TABLE windlass_as_of (
    id         integer PRIMARY KEY CHECK (id = 1),
    position   bigint,
    at         timestamptz,
    written_at timestamptz NOT NULL,
    -- The lease duration, and the worker of the leading node.
    ttl        interval,
    own        text,
    -- The mark by which the leader recognizes its tables.
    writer     bigint,
    write      bigint
);
INSERT INTO windlass_as_of (id, written_at) VALUES (1, clock_timestamp());

-- `heard` is the time of the last contact of the worker, at most some seconds old.
CREATE TABLE windlass_workers (
    worker      text PRIMARY KEY,
    name        text NOT NULL,
    status      text NOT NULL CHECK (status IN ('online', 'draining', 'lost', 'ended')),
    since       timestamptz NOT NULL,
    heard       timestamptz,
    slots       bigint NOT NULL,
    leases      bigint NOT NULL,
    labels      jsonb NOT NULL,
    incarnation bigint NOT NULL
) WITH (fillfactor = 70);

-- A step has at most one lease, and a fence is unique. `expires` is the time when the lease expires unless the worker
-- makes contact before; null for a lease that does not expire.
CREATE TABLE windlass_leases (
    run         text NOT NULL,
    step        bigint NOT NULL,
    fence       bigint NOT NULL UNIQUE,
    worker      text NOT NULL,
    acquired    timestamptz NOT NULL,
    expires     timestamptz,
    started     timestamptz,
    attempt     integer NOT NULL,
    delivery    integer NOT NULL,
    stop        text CHECK (stop IN ('term', 'kill')),
    stop_reason text CHECK (stop_reason IN
                    ('run_cancelled', 'fail_fast', 'superseded', 'overdue', 'stale')),
    locks       jsonb NOT NULL,
    PRIMARY KEY (run, step)
) WITH (fillfactor = 70);
CREATE INDEX windlass_leases_by_worker ON windlass_leases (worker);

-- Runs that are not sealed, with their steps counted by status.
CREATE TABLE windlass_open_runs (
    run       text PRIMARY KEY,
    number    bigint NOT NULL UNIQUE,
    pipeline  text NOT NULL,
    status    text NOT NULL CHECK
                  (status IN ('running', 'cancelling', 'succeeded', 'failed', 'cancelled', 'interrupted')),
    submitted timestamptz NOT NULL,
    steps     bigint NOT NULL,
    waiting   bigint NOT NULL,
    ready     bigint NOT NULL,
    leased    bigint NOT NULL,
    running   bigint NOT NULL,
    succeeded bigint NOT NULL,
    failed    bigint NOT NULL,
    timed_out bigint NOT NULL,
    cancelled bigint NOT NULL,
    skipped   bigint NOT NULL,
    blocked   bigint NOT NULL,
    cached    bigint NOT NULL
) WITH (fillfactor = 70);

-- `fence` is the newest lease of the step, `cause` the step whose failure ended it.
CREATE TABLE windlass_open_steps (
    run      text NOT NULL,
    step     bigint NOT NULL,
    name     text NOT NULL,
    status   text NOT NULL CHECK (status IN
                 ('waiting', 'ready', 'leased', 'running', 'succeeded', 'failed', 'timed_out',
                  'cancelled', 'skipped', 'blocked', 'cached')),
    attempt  integer NOT NULL,
    delivery integer NOT NULL,
    fence    bigint,
    cause    bigint,
    PRIMARY KEY (run, step)
) WITH (fillfactor = 70);

-- The newest events. `event` is the complete JSON, as the API returns it.
CREATE TABLE windlass_recent_events (
    position bigint PRIMARY KEY,
    at       timestamptz NOT NULL,
    type     text NOT NULL,
    run      text,
    step     bigint,
    worker   text,
    fence    bigint,
    event    jsonb NOT NULL
);

-- Every run, open or archived; ordered by number, the newest comes first.
CREATE VIEW windlass_runs AS
SELECT number, run, pipeline, status, submitted, NULL::timestamptz AS ended, steps
FROM windlass_open_runs
UNION ALL
SELECT number, run, pipeline, status, to_timestamp(submitted_ms / 1000.0),
       to_timestamp(ended_ms / 1000.0), steps
FROM windlass_archive AS sealed
WHERE NOT EXISTS (SELECT FROM windlass_open_runs AS open WHERE open.number = sealed.number);

-- The steps of open runs.
CREATE VIEW windlass_steps AS
SELECT steps.run, runs.pipeline, steps.step, steps.name, steps.status, steps.attempt,
       steps.delivery, steps.fence, cause.name AS cause
FROM windlass_open_steps AS steps
JOIN windlass_open_runs AS runs USING (run)
LEFT JOIN windlass_open_steps AS cause ON cause.run = steps.run AND cause.step = steps.cause;

CREATE VIEW windlass_events AS
SELECT position, at, type, run, step, worker, fence, event FROM windlass_recent_events;

-- Running steps, and their workers.
CREATE VIEW windlass_running AS
SELECT leases.run, runs.pipeline, steps.name AS step, workers.name AS worker, leases.started,
       leases.expires, leases.attempt, leases.delivery, leases.stop, leases.fence
FROM windlass_leases AS leases
JOIN windlass_open_steps AS steps USING (run, step)
JOIN windlass_open_runs AS runs USING (run)
LEFT JOIN windlass_workers AS workers USING (worker)
WHERE steps.status = 'running';

-- Steps that do not run yet: `waiting` for needs or a retry, or `ready` for a worker, a slot or a lock.
CREATE VIEW windlass_waiting AS
SELECT run, pipeline, name AS step, status, attempt
FROM windlass_steps WHERE status IN ('waiting', 'ready');

-- Failed steps, and their causes.
CREATE VIEW windlass_failures AS
SELECT run, pipeline, name AS step, status, attempt, cause
FROM windlass_steps WHERE status IN ('failed', 'timed_out', 'blocked');

-- The holders of locks.
CREATE VIEW windlass_lock_holders AS
SELECT lock.name AS lock, leases.run, steps.name AS step, workers.name AS worker,
       leases.acquired, leases.expires, leases.fence
FROM windlass_leases AS leases
CROSS JOIN LATERAL jsonb_array_elements_text(leases.locks) AS lock (name)
LEFT JOIN windlass_open_steps AS steps USING (run, step)
LEFT JOIN windlass_workers AS workers USING (worker);

-- The keys of submissions, and the status of each key's run: `unknown` if the run was never created, or was pruned. A
-- key that is not valid text is shown escaped.
CREATE VIEW windlass_submissions AS
SELECT CASE WHEN position('\x00'::bytea IN keys.key) = 0 THEN convert_from(keys.key, 'UTF8')
            ELSE encode(keys.key, 'escape') END AS key,
       coalesce(runs.status, 'unknown') AS status, runs.run, runs.pipeline,
       to_timestamp(keys.at_ms / 1000.0) AS claimed
FROM windlass_keys AS keys
LEFT JOIN windlass_runs AS runs ON runs.number = keys.run;

-- Idempotency keys of steps. `run`, `step` and `name` identify the step that holds the key or held it last; its run may
-- be sealed. `at` is the time when the step took the key, or ended. `waiting` is the number of steps that wait for the
-- result. Keys of submissions are in `windlass_submissions`.
CREATE TABLE windlass_idempotency (
    key     text PRIMARY KEY,
    status  text NOT NULL CHECK (status IN ('pending', 'completed', 'failed')),
    run     text NOT NULL,
    step    bigint NOT NULL,
    name    text NOT NULL,
    at      timestamptz NOT NULL,
    waiting bigint NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX windlass_idempotency_by_run ON windlass_idempotency (run);
