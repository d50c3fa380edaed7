-- The transaction that wrote a row, as the row says itself. The server keeps the same number beside the row (`xmin`), and
-- neither vacuuming nor freezing the table changes that. A row that was put back from a dump or from a copy says the
-- transaction that wrote it first, and the server says the one that put it back.
ALTER TABLE windlass_journal ADD COLUMN written bigint;
ALTER TABLE windlass_journal ALTER COLUMN written SET DEFAULT pg_current_xact_id()::text::bigint;

-- The last batch of the journal when the row was written. A journal without it was put back, or has lost rows.
ALTER TABLE windlass_leader
    ADD COLUMN written bigint, ADD COLUMN head bigint, ADD COLUMN head_batch bigint;
ALTER TABLE windlass_leader ALTER COLUMN written SET DEFAULT pg_current_xact_id()::text::bigint;

-- As before, and each change of the row notes its transaction and the last batch. Only an UPDATE does: rows that are put back
-- are inserted. Only a new term may note a batch that is further back: its campaign has compared the two.
CREATE OR REPLACE FUNCTION windlass_leader_stays() RETURNS trigger LANGUAGE plpgsql AS $$
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

-- Whether a row was written by another transaction than it says.
CREATE FUNCTION windlass_is_put_back(by_server xid, by_row bigint) RETURNS boolean LANGUAGE sql
AS $$ SELECT by_server::text::bigint IS DISTINCT FROM by_row & 4294967295 $$;

-- Whether the row of the leader or the journal was put back, or the journal lacks the batch that the row names. A function,
-- since each of its queries sees what was committed while its caller waited for the row.
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
    -- Nothing is missing that has left.
    RETURN coalesce(noted, 0) > (SELECT pruned FROM windlass_journal_state WHERE id = 1) AND NOT EXISTS (
        SELECT FROM windlass_journal WHERE (position, batch) = (noted, noted_batch));
END $$;
