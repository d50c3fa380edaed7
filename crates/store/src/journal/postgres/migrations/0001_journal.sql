-- One row per batch; its key is the position of its last event. Partitions are ranges of positions. The leader creates them
-- ahead of writes and drops them when their events have been pruned.
--
-- `written` is the transaction that wrote the row. The server keeps the same number beside the row (`xmin`), and neither a
-- vacuum nor a freeze changes it. In a row that was restored from a dump or a copy, `written` is the first transaction and
-- `xmin` the restoring one.
CREATE TABLE windlass_journal (
    position bigint PRIMARY KEY,
    first    bigint NOT NULL CHECK (first BETWEEN 1 AND position),
    term     bigint NOT NULL CHECK (term > 0),
    batch    bigint NOT NULL,
    events   bytea  NOT NULL,
    written  bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint
) PARTITION BY RANGE (position);

-- The state of the journal as a whole. Events up to `pruned` have been removed.
CREATE TABLE windlass_journal_state (
    id     integer PRIMARY KEY CHECK (id = 1),
    pruned bigint NOT NULL CHECK (pruned >= 0)
);
INSERT INTO windlass_journal_state (id, pruned) VALUES (1, 0);

-- The random name of the cluster, by which workers recognize it. A copy of the database belongs to the same cluster.
CREATE TABLE windlass_cluster (
    id      integer PRIMARY KEY CHECK (id = 1),
    cluster text NOT NULL
);
INSERT INTO windlass_cluster (id, cluster)
VALUES (1, substr(replace(gen_random_uuid()::text, '-', ''), 1, 16));

-- The node that leads, or led last. The row is never deleted and its term only grows, so that no term number repeats.
CREATE TABLE windlass_leader (
    id           integer PRIMARY KEY CHECK (id = 1),
    term         bigint NOT NULL CHECK (term > 0),
    -- The term before this one.
    previous     bigint NOT NULL DEFAULT 0,
    node         text NOT NULL,
    address      text,
    since        timestamptz NOT NULL,
    until        timestamptz NOT NULL,
    -- The number of changes of the row. A candidate waits until the row has not changed for a whole term, and names the row
    -- that it has seen, so the clock of the database decides nothing about the end of a term.
    beat         bigint NOT NULL DEFAULT 0,
    -- The remaining duration of the term at the last change; zero once the leader has resigned.
    lasts_ms     bigint NOT NULL,
    -- The history of the server. If it changes, commits may be lost, and the generation grows.
    store        text NOT NULL,
    generation   integer NOT NULL CHECK (generation BETWEEN 0 AND 65535),
    -- The start of the server on which the term was won. After a restart the server may run on a restored copy of its files,
    -- so the next term number jumps ahead.
    server_since timestamptz,
    -- What the campaign of the newest term found out about the history. A term without events records nothing, so the next
    -- term inherits it.
    history      text NOT NULL DEFAULT 'unbroken',
    -- The transaction that wrote the row, as in the journal.
    written      bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
    -- The last batch of the journal when the row was written. A journal without it was restored, or has lost rows.
    head         bigint,
    head_batch   bigint
);

-- Each UPDATE notes its transaction and the last batch; restored rows are inserted. Only a new term may note an earlier
-- batch, because its campaign has compared the two.
CREATE FUNCTION windlass_leader_stays() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    newest record;
BEGIN
    IF TG_OP = 'DELETE' THEN
        RAISE EXCEPTION 'the row of the leader is never deleted';
    ELSIF NEW.term < OLD.term THEN
        RAISE EXCEPTION 'a term only grows';
    END IF;
    NEW.written := pg_current_xact_id()::text::bigint;
    -- The change may come from a session with another search path.
    EXECUTE format('SELECT position, batch FROM %I.windlass_journal ORDER BY position DESC LIMIT 1',
        TG_TABLE_SCHEMA) INTO newest;
    IF NEW.term > OLD.term OR newest.position > coalesce(OLD.head, 0) THEN
        NEW.head := newest.position;
        NEW.head_batch := newest.batch;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER windlass_leader_stays BEFORE DELETE OR UPDATE ON windlass_leader
    FOR EACH ROW EXECUTE FUNCTION windlass_leader_stays();

CREATE FUNCTION windlass_leader_beats() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        NEW.beat := OLD.beat + 1;
    END IF;
    NEW.lasts_ms := greatest(0, ceil(extract(epoch FROM NEW.until - clock_timestamp()) * 1000));
    RETURN NEW;
END $$;
CREATE TRIGGER windlass_leader_beats BEFORE INSERT OR UPDATE ON windlass_leader
    FOR EACH ROW EXECUTE FUNCTION windlass_leader_beats();

-- Appends a batch under a term that no other node can take before the commit: the row of the leader is locked in share.
-- Returns null if the term is over, if the batch does not follow the head, or if it is there already. What is acknowledged
-- is on disk, whatever the settings of the role or the database: at commit the setting of the transaction counts, and a
-- stronger one stays. This is a function because its plans outlive the call, also behind a pooler: a statement would be
-- parsed and planned each time, which takes three times as long as its execution.
CREATE FUNCTION windlass_append(wanted bigint, begins bigint, under bigint, name bigint, content bytea)
RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    PERFORM 1 FROM windlass_leader
        WHERE id = 1 AND term = under AND until > clock_timestamp() FOR SHARE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF (SELECT coalesce(max(position), 0) FROM windlass_journal) <> begins - 1 THEN
        RETURN NULL;
    END IF;
    INSERT INTO windlass_journal (position, first, term, batch, events)
        VALUES (wanted, begins, under, name, content) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    RETURN wanted;
END $$;

-- Whether a row was written by another transaction than it says.
CREATE FUNCTION windlass_is_put_back(by_server xid, by_row bigint) RETURNS boolean LANGUAGE sql
AS $$ SELECT by_server::text::bigint IS DISTINCT FROM by_row & 4294967295 $$;

-- Whether the row of the leader or the journal was restored, or the journal lacks the batch that the row names. This is a
-- function because each of its queries sees what was committed while its caller waited for the row.
CREATE FUNCTION windlass_is_restored(by_server xid, by_row bigint, noted bigint, noted_batch bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    newest record;
BEGIN
    IF windlass_is_put_back(by_server, by_row) THEN
        RETURN true;
    END IF;
    SELECT xmin AS by_server, written INTO newest
        FROM windlass_journal ORDER BY position DESC LIMIT 1;
    IF FOUND AND windlass_is_put_back(newest.by_server, newest.written) THEN
        RETURN true;
    END IF;
    -- Pruned batches are not missing.
    RETURN coalesce(noted, 0) > (SELECT pruned FROM windlass_journal_state WHERE id = 1) AND NOT EXISTS (
        SELECT FROM windlass_journal WHERE (position, batch) = (noted, noted_batch));
END $$;

-- Snapshots of the state, in parts of a megabyte. A snapshot names the batch that ends at its position. If the journal has
-- another batch there, the snapshot belongs to another history and is not used.
CREATE TABLE windlass_snapshots (
    position bigint NOT NULL,
    batch    bigint NOT NULL,
    parts    integer NOT NULL,
    PRIMARY KEY (position, batch)
);
CREATE TABLE windlass_snapshot_parts (
    position bigint NOT NULL,
    batch    bigint NOT NULL,
    part     integer NOT NULL,
    bytes    bytea NOT NULL,
    PRIMARY KEY (position, batch, part),
    FOREIGN KEY (position, batch) REFERENCES windlass_snapshots ON DELETE CASCADE
);
ALTER TABLE windlass_snapshot_parts ALTER COLUMN bytes SET STORAGE EXTERNAL;

-- Runs that an operator has condemned: every fold of the journal reads them first, and does not build these runs.
CREATE TABLE windlass_condemned (
    run bigint PRIMARY KEY,
    at  timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Controllers that have begun to fold the journal and have not finished, with the run that they apply at the moment. A row
-- that stays belongs to a start that failed.
CREATE TABLE windlass_starts (
    node     text PRIMARY KEY,
    applying bigint,
    since    timestamptz NOT NULL DEFAULT clock_timestamp()
);
