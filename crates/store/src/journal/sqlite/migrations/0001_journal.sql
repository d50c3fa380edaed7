-- One row per batch. Its key is the position of its last event, so that rows lie in order and a batch that would
-- end where another one does is refused by the table itself.
CREATE TABLE journal (
    position INTEGER PRIMARY KEY,
    first    INTEGER NOT NULL CHECK (first BETWEEN 1 AND position),
    term     INTEGER NOT NULL CHECK (term > 0),
    batch    INTEGER NOT NULL,
    events   BLOB NOT NULL
) STRICT;

-- Up to where events have left: they are in a snapshot, and those of runs in the archive.
CREATE TABLE pruned (
    id   INTEGER PRIMARY KEY CHECK (id = 1),
    upto INTEGER NOT NULL CHECK (upto >= 0)
) STRICT;

INSERT INTO pruned (id, upto) VALUES (1, 0);

-- Who leads, or did last. The term counts epochs: it only grows, and the row stays, or a term could come twice.
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
