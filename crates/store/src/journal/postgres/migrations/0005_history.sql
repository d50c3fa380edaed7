-- What the newest term found of the history when it was won, and the term before it. A term that has written nothing has
-- recorded nothing of it either: the next one inherits it.
ALTER TABLE windlass_leader ADD COLUMN history text NOT NULL DEFAULT 'unbroken';
ALTER TABLE windlass_leader ADD COLUMN previous bigint NOT NULL DEFAULT 0;

-- As before, and what is acknowledged is on disk, whatever the role or the database is set to: at commit the setting of
-- the transaction counts. A stronger one stays.
CREATE OR REPLACE FUNCTION windlass_append(wanted bigint, begins bigint, under bigint, name bigint, content bytea)
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
