-- One row per batch. The key is the position of its last event, so rows are in order, and the table refuses a second batch
-- with the same end.
CREATE TABLE journal (
    position INTEGER PRIMARY KEY,
    first    INTEGER NOT NULL CHECK (first BETWEEN 1 AND position),
    term     INTEGER NOT NULL CHECK (term > 0),
    batch    INTEGER NOT NULL,
    events   BLOB NOT NULL
) STRICT;

-- Events up to `upto` have been removed: a snapshot contains their effect, and the archive the events of runs.
CREATE TABLE pruned (
    id   INTEGER PRIMARY KEY CHECK (id = 1),
    upto INTEGER NOT NULL CHECK (upto >= 0)
) STRICT;

INSERT INTO pruned (id, upto) VALUES (1, 0);

-- The process that leads, or led last. The row is never deleted and its term only grows, so that no term number repeats.
CREATE TABLE leader (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    term    INTEGER NOT NULL CHECK (term > 0),
    node    TEXT NOT NULL,
    pid     INTEGER,
    address TEXT,
    since   INTEGER NOT NULL
) STRICT;

CREATE TRIGGER leader_stays BEFORE DELETE ON leader
BEGIN
    SELECT RAISE(ABORT, 'the row of the leader is never deleted');
END;

CREATE TRIGGER leader_term_grows BEFORE UPDATE OF term ON leader WHEN NEW.term <= OLD.term
BEGIN
    SELECT RAISE(ABORT, 'a term only grows');
END;

-- Runs that an operator has condemned: every fold of the journal reads them first, and does not build these runs.
CREATE TABLE condemned (
    run INTEGER PRIMARY KEY
) STRICT;
