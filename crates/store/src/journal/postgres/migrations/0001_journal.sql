-- One row per batch, as in SQLite: its key is the position of its last event. Partitions are ranges of positions, made
-- ahead by who leads and dropped whole when their events have left.
CREATE TABLE windlass_journal (
    position bigint PRIMARY KEY,
    first    bigint NOT NULL CHECK (first BETWEEN 1 AND position),
    term     bigint NOT NULL CHECK (term > 0),
    batch    bigint NOT NULL,
    events   bytea  NOT NULL
) PARTITION BY RANGE (position);

-- What is known of the journal as a whole. Events up to `pruned` have left.
CREATE TABLE windlass_journal_state (
    id     integer PRIMARY KEY CHECK (id = 1),
    pruned bigint NOT NULL CHECK (pruned >= 0)
);
INSERT INTO windlass_journal_state (id, pruned) VALUES (1, 0);

-- Who leads, or did last, by the clock of the database. The term only grows, and the row stays, or a term could come
-- twice. `store` is what tells this server's history from another's: when it changes, commits may have been lost, and the
-- generation grows.
CREATE TABLE windlass_leader (
    id         integer PRIMARY KEY CHECK (id = 1),
    term       bigint NOT NULL CHECK (term > 0),
    node       text NOT NULL,
    address    text,
    since      timestamptz NOT NULL,
    until      timestamptz NOT NULL,
    store      text NOT NULL,
    generation integer NOT NULL CHECK (generation BETWEEN 0 AND 65535)
);

CREATE FUNCTION windlass_leader_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        RAISE EXCEPTION 'the row of the leader is never deleted';
    ELSIF NEW.term < OLD.term THEN
        RAISE EXCEPTION 'a term only grows';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER windlass_leader_stays BEFORE DELETE OR UPDATE ON windlass_leader
    FOR EACH ROW EXECUTE FUNCTION windlass_leader_stays();

-- States that events fold to, in parts of a megabyte. Those that are ahead of the journal are lost ones.
CREATE TABLE windlass_snapshots (
    position bigint PRIMARY KEY,
    parts    integer NOT NULL,
    lost     boolean NOT NULL DEFAULT false
);
CREATE TABLE windlass_snapshot_parts (
    position bigint NOT NULL REFERENCES windlass_snapshots ON DELETE CASCADE,
    part     integer NOT NULL,
    bytes    bytea NOT NULL,
    PRIMARY KEY (position, part)
);
ALTER TABLE windlass_snapshot_parts ALTER COLUMN bytes SET STORAGE EXTERNAL;
