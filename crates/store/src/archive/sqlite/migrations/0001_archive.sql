-- One row per run that has ended: its record. `run` is the run's id with the top bit inverted, because numbers are
-- signed here and ids exceed half of the range in 2039. Every index ends in `run`, because that is the key of the rows.
CREATE TABLE runs (
    run          INTEGER PRIMARY KEY,
    pipeline     TEXT NOT NULL,
    status       TEXT NOT NULL CHECK (status IN ('succeeded', 'failed', 'cancelled', 'interrupted')),
    submitted_at INTEGER NOT NULL CHECK (submitted_at >= 0),
    ended_at     INTEGER NOT NULL CHECK (ended_at >= 0),
    steps        INTEGER NOT NULL CHECK (steps >= 0),
    -- The number of events and the position of the last one, to detect missing chunks.
    events       INTEGER NOT NULL CHECK (events >= 0),
    last         INTEGER NOT NULL CHECK (last >= 0),
    -- The workers that had leases of the run: a list of numbers and names, in JSON.
    workers      TEXT NOT NULL,
    -- A checksum of the record: otherwise a changed byte of the row would not be detected.
    line_check   BLOB NOT NULL CHECK (octet_length(line_check) = 8)
) STRICT;

CREATE INDEX runs_by_pipeline ON runs (pipeline);
CREATE INDEX runs_by_status ON runs (status);
CREATE INDEX runs_by_pipeline_and_status ON runs (pipeline, status);
CREATE INDEX runs_by_submission ON runs (submitted_at);
CREATE INDEX runs_by_end ON runs (ended_at);

-- The events of a run, compressed in chunks, so that a page is read without the rest. The key of a row is the position
-- of its last event. The row names the position that it follows: the key of the row before, or zero.
CREATE TABLE chunks (
    run     INTEGER NOT NULL REFERENCES runs (run),
    last    INTEGER NOT NULL CHECK (last > follows),
    follows INTEGER NOT NULL CHECK (follows >= 0),
    events  BLOB NOT NULL,
    PRIMARY KEY (run, last)
) STRICT;

-- The keys of submissions, and the run of each.
CREATE TABLE keys (
    key  TEXT PRIMARY KEY CHECK (octet_length(key) <= 256),
    body BLOB NOT NULL CHECK (octet_length(body) = 32),
    run  INTEGER NOT NULL,
    at   INTEGER NOT NULL CHECK (at >= 0)
) STRICT, WITHOUT ROWID;

CREATE INDEX keys_by_age ON keys (at);
