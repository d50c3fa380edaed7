-- What is done once under a key. `run`, `step` and `name` are of the step that is at it or did it last; its run may be
-- sealed by now. `at` is since when it is at it, or when it ended; `waiting` counts steps that wait for what comes of it.
-- Keys of submissions have a view of their own.
ALTER VIEW windlass_idempotency RENAME TO windlass_submissions;

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
