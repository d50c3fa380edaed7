-- Writes a batch behind the head, under a term that nobody can take until this is committed: the row of the leader is
-- locked in share. Nothing comes back if the term has passed, if the batch does not follow the head, or if it is there
-- already. A function, since its plans outlive the call, also behind a pooler: as a statement it is parsed and planned
-- each time, which takes three times as long as carrying it out.
CREATE FUNCTION windlass_append(wanted bigint, begins bigint, under bigint, name bigint, content bytea)
RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
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
