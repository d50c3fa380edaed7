-- Runs that an operator has condemned: every fold reads them first, and does not build these runs.
CREATE TABLE windlass_condemned (
    run bigint PRIMARY KEY,
    at  timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Controllers that have begun to fold the journal and have not finished, with the run that they are applying. A row that
-- stays is of a start that ended before it was done.
CREATE TABLE windlass_starts (
    node     text PRIMARY KEY,
    applying bigint,
    since    timestamptz NOT NULL DEFAULT clock_timestamp()
);
