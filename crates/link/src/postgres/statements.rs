//! All statements, one operation each.

/// Binds a free place. No row is returned if another leader holds it, or if the run there is over. Epochs begin with the
/// server's time, so that none is repeated after rows were lost.
pub(super) const BIND: &str = "
    INSERT INTO windlass_mail_places AS place (run, epoch, by, until)
    VALUES ($1, (extract(epoch FROM clock_timestamp()) * 1000)::bigint, $2,
        clock_timestamp() + $3 * interval '1 millisecond')
    ON CONFLICT (run) DO UPDATE SET
        epoch = greatest(excluded.epoch, place.epoch + 1), by = excluded.by, until = excluded.until
    WHERE place.epitaph IS NULL AND (place.by IS NULL OR place.until <= clock_timestamp())
    RETURNING epoch";

/// Deletes messages that no reader will take.
pub(super) const SWEEP: &str = "
    WITH letters AS (DELETE FROM windlass_mail
        WHERE at < clock_timestamp() - interval '10 minutes')
    DELETE FROM windlass_mail_places WHERE until < clock_timestamp() - interval '1 day'";

/// Renews a binding. No row is returned if it has expired.
pub(super) const KEEP: &str = "
    UPDATE windlass_mail_places SET until = clock_timestamp() + $3 * interval '1 millisecond'
    WHERE run = $1 AND epoch = $2 AND by IS NOT NULL AND epitaph IS NULL RETURNING epoch";

/// Gives up a binding.
pub(super) const UNBIND: &str = "
    UPDATE windlass_mail_places SET by = NULL, epitaph = coalesce(epitaph, $3)
    WHERE run = $1 AND epoch = $2";

/// Reads the state of a place.
pub(super) const LOOK: &str = "
    SELECT epoch, CASE WHEN until > clock_timestamp() THEN by END AS by, epitaph
    FROM windlass_mail_places WHERE run = $1";

/// Sends messages to mailboxes that are not full, notifies their readers, and returns the number of messages sent.
pub(super) const SEND: &str = "
    WITH sent AS (SELECT * FROM unnest($2::bigint[], $3::bytea[]) AS letter(box, body)),
    full_ones AS (SELECT box FROM windlass_mail
        WHERE run = $1 AND box IN (SELECT box FROM sent)
        GROUP BY box HAVING count(*) >= $4 OR sum(octet_length(body)) >= $5),
    put AS (INSERT INTO windlass_mail (run, box, body)
        SELECT $1, box, body FROM sent WHERE box NOT IN (SELECT box FROM full_ones)
        RETURNING box),
    told AS (SELECT pg_notify('windlass_mail', box::text) FROM (SELECT DISTINCT box FROM put) AS boxes)
    SELECT (SELECT count(*) FROM put), (SELECT count(*) FROM told)";

/// Takes messages out of a mailbox, the oldest first.
pub(super) const RECEIVE: &str = "
    WITH taken AS (DELETE FROM windlass_mail WHERE id IN (
        SELECT id FROM windlass_mail WHERE run = $1 AND box = $2 ORDER BY id LIMIT $3)
        RETURNING id, body)
    SELECT body FROM taken ORDER BY id";
