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
