//! The SQL statements, one operation each.

/// Begins a transaction whose commit is on disk when it returns, regardless of the settings of the role or the database.
pub(super) const BEGIN: &str = "BEGIN; SET LOCAL synchronous_commit = on";

/// Selects disabled settings without which the server loses commits that it has confirmed.
pub(super) const DURABILITY: &str =
    "SELECT name FROM pg_settings WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off'";

/// Selects the position of the last event, or zero.
pub(super) const HEAD: &str = "SELECT coalesce(max(position), 0) FROM windlass_journal";

/// Appends a batch under a term that no other node can take before the commit; null if it was not appended.
pub(super) const APPEND: &str = "SELECT windlass_append($1, $2, $3, $4, $5)";

/// Selects the first batch that ends after a position, without its events.
pub(super) const NEXT_BATCH: &str = "
    SELECT position, first, term, batch FROM windlass_journal
    WHERE position > $1 ORDER BY position LIMIT 1";

/// Selects batches that end after a position and begin at another position or before; positions have no gaps.
pub(super) const TAIL: &str = "
    SELECT position, first, term, batch, events FROM windlass_journal
    WHERE position > $1 AND first <= $2 ORDER BY position";

/// Selects the position up to which events have been pruned.
pub(super) const PRUNED: &str = "SELECT pruned FROM windlass_journal_state WHERE id = 1";

/// Marks events as pruned, up to the end of the last batch that ends at a position or before; never the last batch of all.
pub(super) const PRUNE: &str = "
    UPDATE windlass_journal_state SET pruned = greatest(pruned, coalesce((
        SELECT max(position) FROM windlass_journal
        WHERE position <= $1 AND position < (SELECT max(position) FROM windlass_journal)), 0))
    WHERE id = 1 RETURNING pruned";

/// Selects the newest term, and whether it has not expired.
pub(super) const TERM: &str =
    "SELECT term, until > clock_timestamp() AS lasts FROM windlass_leader WHERE id = 1";

/// Takes the next term if the row is still the one that the candidate has observed for a whole term
/// ([`PostgresElection`](super::election::PostgresElection)). The identifier and the timeline of a server name its history:
/// a restored base backup and a promoted standby have another one. Lost terms must not repeat. So after a restart of the
/// server, or if rows were restored, the next term is the time in milliseconds. It is greater than any term of any history,
/// because terms are won more slowly than time passes.
///
/// On another server or timeline, commits may be missing: `lost`. The same holds for rows that were restored from a dump,
/// and for a journal without the row of a leader. A restarted server may run on a restored copy of its files: `unproven`,
/// unless the candidate knows better. A term that wrote nothing hands its findings to the next term.
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

/// Selects the current or last leader, and whether its term has not expired. Standbys poll this; it locks nothing, so it
/// never delays the leader.
pub(super) const LEADER: &str = "
    SELECT node, address, until > clock_timestamp() AS lasts, term, beat, lasts_ms
    FROM windlass_leader WHERE id = 1";

/// Selects the name of the cluster.
pub(super) const CLUSTER: &str = "SELECT cluster FROM windlass_cluster WHERE id = 1";

/// Renews a term that no other node has taken and that was not resigned, regardless of the clock of the database.
pub(super) const RENEW: &str = "
    UPDATE windlass_leader SET until = clock_timestamp() + $2 * interval '1 millisecond'
    WHERE id = 1 AND term = $1 AND lasts_ms > 0 RETURNING term";

/// Resigns a term.
pub(super) const RESIGN: &str =
    "UPDATE windlass_leader SET until = clock_timestamp() WHERE id = 1 AND term = $1";

/// Begins a snapshot; no row comes back if it exists already.
pub(super) const BEGIN_SNAPSHOT: &str = "
    INSERT INTO windlass_snapshots (position, batch, parts) VALUES ($1, $2, $3)
    ON CONFLICT DO NOTHING RETURNING position";

/// Writes a part of a snapshot.
pub(super) const WRITE_PART: &str =
    "INSERT INTO windlass_snapshot_parts (position, batch, part, bytes) VALUES ($1, $2, $3, $4)";

/// Removes all snapshots but the newest two that match the journal. Snapshots ahead of the journal stay until it reaches
/// them.
pub(super) const TIDY_SNAPSHOTS: &str = "
    DELETE FROM windlass_snapshots
    WHERE position <= (SELECT coalesce(max(position), 0) FROM windlass_journal)
        AND (position, batch) NOT IN (
            SELECT position, batch FROM windlass_snapshots JOIN windlass_journal USING (position, batch)
            ORDER BY position DESC LIMIT 2)";

/// Selects the snapshots that match the journal, the newest first.
pub(super) const SNAPSHOTS: &str = "
    SELECT position, batch FROM windlass_snapshots JOIN windlass_journal USING (position, batch)
    ORDER BY position DESC";

/// Selects the snapshots that do not match the journal.
pub(super) const FOREIGN_SNAPSHOTS: &str = "
    SELECT position FROM windlass_snapshots AS kept WHERE NOT EXISTS (
        SELECT FROM windlass_journal AS journal
        WHERE (journal.position, journal.batch) = (kept.position, kept.batch))
    ORDER BY position";

/// Selects the parts of a snapshot.
pub(super) const PARTS: &str =
    "SELECT bytes FROM windlass_snapshot_parts WHERE position = $1 AND batch = $2 ORDER BY part";

/// Writes batches of another journal unchanged.
pub(super) const IMPORT_BATCHES: &str = "
    INSERT INTO windlass_journal (position, first, term, batch, events)
    SELECT * FROM unnest($1, $2, $3, $4, $5)";

/// Records the position up to which events of another journal were pruned.
pub(super) const IMPORT_PRUNED: &str = "UPDATE windlass_journal_state SET pruned = $1 WHERE id = 1";

/// Continues the term numbers of another journal, and ends the current term. The history is not this server's, so the next
/// leader gets another generation.
pub(super) const IMPORT_TERM: &str = "
    UPDATE windlass_leader SET term = greatest(term, $1), generation = $2, store = 'copied',
        until = clock_timestamp()
    WHERE id = 1";

/// Selects the runs that an operator has condemned.
pub(super) const CONDEMNED: &str = "SELECT run FROM windlass_condemned ORDER BY run";

/// Condemns a run under a term that has not expired, and that no other node can take before the commit. The returned row
/// says whether the term is valid.
pub(super) const CONDEMN: &str = "
    WITH led AS (
        SELECT 1 FROM windlass_leader
        WHERE id = 1 AND term = $1 AND until > clock_timestamp() FOR SHARE),
    written AS (
        INSERT INTO windlass_condemned (run) SELECT $2 FROM led ON CONFLICT DO NOTHING)
    SELECT count(*) > 0 AS lasts FROM led";

/// Selects the marks of starts that have not finished.
pub(super) const STARTS: &str = "SELECT node, applying FROM windlass_starts ORDER BY node";

/// Replaces the mark of a node's start.
pub(super) const MARK_START: &str = "
    INSERT INTO windlass_starts (node, applying) VALUES ($1, $2)
    ON CONFLICT (node) DO UPDATE SET applying = excluded.applying, since = clock_timestamp()";

/// Removes the mark of a node's start.
pub(super) const CLEAR_START: &str = "DELETE FROM windlass_starts WHERE node = $1";
