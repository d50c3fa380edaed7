-- Whether a term is over is not asked of the clock of the database, which may be set. A candidate waits until the row has not
-- changed for as long as the term lasts, and names the row that it has seen. So every change of the row has a number, and the
-- row says how long its term lasts from then on: zero once it was given back.
ALTER TABLE windlass_leader ADD COLUMN beat bigint NOT NULL DEFAULT 0;
ALTER TABLE windlass_leader ADD COLUMN lasts_ms bigint NOT NULL DEFAULT 6000;

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
