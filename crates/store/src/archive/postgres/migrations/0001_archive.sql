-- One row per run that has ended: its record. `number` is the run's id with the top bit inverted, because numbers are
-- signed here and ids exceed half of the range in 2039. Times are milliseconds since 1970.
CREATE TABLE windlass_archive (
    number       bigint PRIMARY KEY,
    run          text NOT NULL,
    pipeline     text NOT NULL,
    status       text NOT NULL CHECK (status IN ('succeeded', 'failed', 'cancelled', 'interrupted')),
    submitted_ms bigint NOT NULL CHECK (submitted_ms >= 0),
    ended_ms     bigint NOT NULL CHECK (ended_ms >= 0),
    steps        bigint NOT NULL CHECK (steps >= 0),
    -- The number of events and the position of the last one, to detect missing chunks.
    events       bigint NOT NULL CHECK (events >= 0),
    last         bigint NOT NULL CHECK (last >= 0),
    -- The workers that had leases of the run: a list of numbers and names, in JSON.
    workers      text NOT NULL
);

CREATE INDEX windlass_archive_by_pipeline ON windlass_archive (pipeline, number);
CREATE INDEX windlass_archive_by_status ON windlass_archive (status, number);
CREATE INDEX windlass_archive_by_pipeline_and_status ON windlass_archive (pipeline, status, number);
CREATE INDEX windlass_archive_by_submission ON windlass_archive (submitted_ms, number);
CREATE INDEX windlass_archive_by_end ON windlass_archive (ended_ms, number);

-- The events of a run, compressed in chunks, so that a page is read without the rest. The key of a row is the position
-- of its last event. The row names the position that it follows: the key of the row before, or zero. Chunks are written
-- and deleted with the row of their run, in one statement or transaction.
CREATE TABLE windlass_archive_chunks (
    number  bigint NOT NULL,
    last    bigint NOT NULL CHECK (last > follows),
    follows bigint NOT NULL CHECK (follows >= 0),
    events  bytea NOT NULL,
    PRIMARY KEY (number, last)
);
-- The chunks are compressed already.
ALTER TABLE windlass_archive_chunks ALTER COLUMN events SET STORAGE EXTERNAL;

-- The keys of submissions, and the run of each. A key is stored as bytes, because it may contain bytes that text may
-- not.
CREATE TABLE windlass_keys (
    key   bytea PRIMARY KEY CHECK (octet_length(key) <= 256),
    body  bytea NOT NULL CHECK (octet_length(body) = 32),
    run   bigint NOT NULL,
    at_ms bigint NOT NULL CHECK (at_ms >= 0)
);

CREATE INDEX windlass_keys_by_age ON windlass_keys (at_ms);
