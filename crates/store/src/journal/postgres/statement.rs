//! Every statement, one operation each.

/// Begins a transaction whose commit is on disk when it returns, whatever the role or the database is set to.
pub(super) const BEGIN: &str = "BEGIN; SET LOCAL synchronous_commit = on";

/// Settings without which the server loses what it has confirmed.
pub(super) const DURABILITY: &str =
    "SELECT name FROM pg_settings WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off'";

/// The position of the last event; zero if there is none.
pub(super) const HEAD: &str = "SELECT coalesce(max(position), 0) FROM windlass_journal";

/// Writes a batch behind the head, under a term that nobody can take until this is committed; null if it cannot be.
pub(super) const APPEND: &str = "SELECT windlass_append($1, $2, $3, $4, $5)";

/// The batch that ends first behind a position, without its events.
pub(super) const NEXT_BATCH: &str = "
    SELECT position, first, term, batch FROM windlass_journal
    WHERE position > $1 ORDER BY position LIMIT 1";

/// Batches that end behind a position and begin within so many events of it: positions have no holes.
pub(super) const TAIL: &str = "
    SELECT position, first, term, batch, events FROM windlass_journal
    WHERE position > $1 AND first <= $2 ORDER BY position";

/// Up to where events have left.
pub(super) const PRUNED: &str = "SELECT pruned FROM windlass_journal_state WHERE id = 1";

/// Lets the events up to the end of a batch leave: of the last that ends at a position or before, never of the last of
/// all.
pub(super) const PRUNE: &str = "
    UPDATE windlass_journal_state SET pruned = greatest(pruned, coalesce((
        SELECT max(position) FROM windlass_journal
        WHERE position <= $1 AND position < (SELECT max(position) FROM windlass_journal)), 0))
    WHERE id = 1 RETURNING pruned";

/// The newest term, and whether it lasts.
pub(super) const TERM: &str =
    "SELECT term, until > clock_timestamp() AS lasts FROM windlass_leader WHERE id = 1";

/// Takes the next term if the row is still the one that the candidate has seen for a whole term
/// ([`Terms`](super::terms::Terms)). The history of a server is told by its identifier and its timeline: a
/// restored base backup and a promoted standby have another one. Terms that were won since and are lost must not come again:
/// where the server may be another one, which a restart is enough for, or rows were put back, the next term is the time in
/// milliseconds, greater than any before in whatever history, since terms are won more slowly than time passes.
///
/// Another server or timeline has lost what the last one had and this one had not: `lost`. So have rows that were put back
/// from a dump, and a journal without the row of a leader. A server that was restarted may
/// be a copy of its files, put back: `unproven`, unless the candidate knows better ([`Terms`](super::terms::Terms)).
/// A term that wrote nothing hands on what it found.
pub(super) const CAMPAIGN: &str = "
    INSERT INTO windlass_leader AS led
        (id, term, node, address, since, until, store, generation, server_since, history)
    SELECT 1,
        CASE WHEN journal.is_led THEN (extract(epoch FROM clock_timestamp()) * 1000)::bigint ELSE 1 END,
        $1, $2, clock_timestamp(),
        clock_timestamp() + $3 * interval '1 millisecond', history.store, 0,
        pg_postmaster_start_time(), CASE WHEN journal.is_led THEN 'lost' ELSE 'unbroken' END
    FROM (SELECT system_identifier || '/' ||
            substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) AS store
          FROM pg_control_system()) AS history,
         (SELECT EXISTS (SELECT FROM windlass_journal)
            OR EXISTS (SELECT FROM windlass_snapshots) AS is_led) AS journal
    ON CONFLICT (id) DO UPDATE SET
        node = excluded.node, address = excluded.address,
        since = excluded.since, until = excluded.until,
        store = excluded.store, server_since = excluded.server_since,
        previous = led.term,
        (term, generation, history) = (SELECT
            CASE WHEN same AND NOT lost THEN led.term + 1
                ELSE greatest(led.term + 1,
                    (extract(epoch FROM clock_timestamp()) * 1000)::bigint) END,
            led.generation + (lost OR led.store <> excluded.store)::integer,
            CASE WHEN lost THEN 'lost'
                WHEN led.history <> 'unbroken' AND led.term IS DISTINCT FROM (
                    SELECT journal.term FROM windlass_journal AS journal
                    ORDER BY journal.position DESC LIMIT 1) THEN led.history
                WHEN same THEN 'unbroken'
                ELSE 'unproven' END
            FROM (SELECT led.store = excluded.store
                    AND led.server_since = excluded.server_since AS same,
                led.store NOT IN (excluded.store, 'copied') OR windlass_is_restored(
                    led.xmin, led.written, led.head, led.head_batch) AS lost) AS found)
    WHERE (led.term, led.beat) = ($4, $5)
    RETURNING term, generation, history, previous,
        (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now";

/// Who leads, or did last, and whether its term lasts. Whoever stands by asks this again and again: it locks nothing, so
/// it never stands in the way of who writes.
pub(super) const LEADER: &str = "
    SELECT node, address, until > clock_timestamp() AS lasts, term, beat, lasts_ms
    FROM windlass_leader WHERE id = 1";

/// Which cluster this is.
pub(super) const CLUSTER: &str = "SELECT cluster FROM windlass_cluster WHERE id = 1";

/// Keeps a term that no other node has taken and that was not given back, whatever the clock of the database says.
pub(super) const RENEW: &str = "
    UPDATE windlass_leader SET until = clock_timestamp() + $2 * interval '1 millisecond'
    WHERE id = 1 AND term = $1 AND lasts_ms > 0 RETURNING term";

/// Gives a term up.
pub(super) const RESIGN: &str =
    "UPDATE windlass_leader SET until = clock_timestamp() WHERE id = 1 AND term = $1";

/// Begins a snapshot; no row comes back if it is there already.
pub(super) const BEGIN_SNAPSHOT: &str = "
    INSERT INTO windlass_snapshots (position, batch, parts) VALUES ($1, $2, $3)
    ON CONFLICT DO NOTHING RETURNING position";

/// A part of it.
pub(super) const WRITE_PART: &str =
    "INSERT INTO windlass_snapshot_parts (position, batch, part, bytes) VALUES ($1, $2, $3, $4)";

/// Removes all but the newest two that match the journal. Those ahead of it are judged once it has reached them.
pub(super) const TIDY_SNAPSHOTS: &str = "
    DELETE FROM windlass_snapshots
    WHERE position <= (SELECT coalesce(max(position), 0) FROM windlass_journal)
        AND (position, batch) NOT IN (
            SELECT position, batch FROM windlass_snapshots JOIN windlass_journal USING (position, batch)
            ORDER BY position DESC LIMIT 2)";

/// The snapshots that match the journal, the newest first.
pub(super) const SNAPSHOTS: &str = "
    SELECT position, batch FROM windlass_snapshots JOIN windlass_journal USING (position, batch)
    ORDER BY position DESC";

/// The snapshots that do not.
pub(super) const FOREIGN_SNAPSHOTS: &str = "
    SELECT position FROM windlass_snapshots AS kept WHERE NOT EXISTS (
        SELECT FROM windlass_journal AS journal
        WHERE (journal.position, journal.batch) = (kept.position, kept.batch))
    ORDER BY position";

/// The parts of one.
pub(super) const PARTS: &str =
    "SELECT bytes FROM windlass_snapshot_parts WHERE position = $1 AND batch = $2 ORDER BY part";

/// Writes batches of another journal as they are.
pub(super) const IMPORT_BATCHES: &str = "
    INSERT INTO windlass_journal (position, first, term, batch, events)
    SELECT * FROM unnest($1, $2, $3, $4, $5)";

/// Notes up to where events of another journal had left.
pub(super) const IMPORT_PRUNED: &str = "UPDATE windlass_journal_state SET pruned = $1 WHERE id = 1";

/// Has terms go on behind those of another journal, and ends this one. Its history is not this server's, so the next
/// leader's generation is another one.
pub(super) const IMPORT_TERM: &str = "
    UPDATE windlass_leader SET term = greatest(term, $1), generation = $2, store = 'copied',
        until = clock_timestamp()
    WHERE id = 1";

/// Runs that an operator has condemned.
pub(super) const CONDEMNED: &str = "SELECT run FROM windlass_condemned ORDER BY run";

/// Condemns a run under a term that lasts, which nobody can take until this is committed. The row that comes back says
/// whether it lasts.
pub(super) const CONDEMN: &str = "
    WITH led AS (
        SELECT 1 FROM windlass_leader
        WHERE id = 1 AND term = $1 AND until > clock_timestamp() FOR SHARE),
    written AS (
        INSERT INTO windlass_condemned (run) SELECT $2 FROM led ON CONFLICT DO NOTHING)
    SELECT count(*) > 0 AS lasts FROM led";

/// Starts that are not done.
pub(super) const STARTS: &str = "SELECT node, applying FROM windlass_starts ORDER BY node";

/// Replaces the mark of a node's start.
pub(super) const MARK_START: &str = "
    INSERT INTO windlass_starts (node, applying) VALUES ($1, $2)
    ON CONFLICT (node) DO UPDATE SET applying = excluded.applying, since = clock_timestamp()";

/// Removes it.
pub(super) const CLEAR_START: &str = "DELETE FROM windlass_starts WHERE node = $1";
