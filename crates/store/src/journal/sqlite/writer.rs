//! The thread that writes.
//!
//! The thread takes all waiting requests and writes their batches in one transaction. While the disk is busy with a
//! commit, the next group collects. So a slow disk makes larger groups, and no append waits for a timer.

use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use windlass_core::engine::StoreHistory;
use windlass_core::id::{RunId, Term};
use windlass_core::time::{Span, Time};

use super::head_file::{HeadFile, HeadRecord};
use super::leader_lock::LeaderLock;
use super::loss_policy::LossPolicy;
use super::reader::{batch_at, batch_header, condemned, head, pruned};
use super::snapshots::SnapshotFolder;
use super::statement;
use crate::db::sql_number::{run_to_sql, to_sql};
use crate::db::sqlite::failure;
use crate::db::sqlite::request_thread::{QUEUED_REQUESTS_MAX, ReplySender, reply};
use crate::db::sqlite::wal::SqliteWal;
use crate::db::{NowFn, StoreError};
use crate::journal::condemned::{CONDEMNED_MAX, too_many_condemned};
use crate::journal::encoded_batch::EncodedBatch;
use crate::journal::{BatchId, CampaignOutcome, JournalLeadership, LeaderCandidate, Position};

#[derive(Debug)]
pub(super) enum SqliteJournalWriteRequest {
    Campaign { candidate: LeaderCandidate, answer: ReplySender<CampaignOutcome> },
    Renew { term: Term, answer: ReplySender<()> },
    Resign { term: Term, answer: ReplySender<()> },
    Append { batch: EncodedBatch, answer: ReplySender<Position> },
    Condemn { term: Term, run: RunId, answer: ReplySender<()> },
    Prune { upto: Position, answer: ReplySender<Position> },
    ImportBatches { batches: Vec<EncodedBatch>, answer: ReplySender<()> },
    FinishImport { pruned: Position, term: Term, answer: ReplySender<()> },
    MarkRestored { answer: ReplySender<()> },
}

/// The most batches that one transaction prunes, so that it delays a commit no longer than another batch does.
const PRUNED_AT_ONCE: i64 = 256;

#[derive(Debug)]
pub(super) struct SqliteJournalWriter {
    connection: Connection,
    folder: PathBuf,
    place: String,
    now: NowFn,
    lead: Option<HeldTerm>,
    loss: LossPolicy,
    wal: SqliteWal,
}

/// The term that this process won, with its lock.
#[derive(Debug)]
struct HeldTerm {
    term: Term,
    lock: LeaderLock,
    head_file: HeadFile,
}

impl HeldTerm {
    /// Records the current end of the journal. If the write fails, the old record still names no more than the journal
    /// has.
    fn record(&mut self, position: Position, batch: BatchId) {
        let recorded = self.lock.time();
        drop(recorded.and_then(|time| self.head_file.write(position, batch, time)));
    }
}

/// The row of the leader.
struct SqliteLeaderRow {
    term: Term,
    node: String,
    pid: Option<u32>,
    address: Option<String>,
}

/// The result of trying to take the lock. A lock in it is released if the surrounding transaction fails.
enum LockAttempt {
    Won(HeldTerm, Position, (StoreHistory, Span)),
    Taken(Option<SqliteLeaderRow>),
    Failed(StoreError),
}

type AppendGroup = Vec<(EncodedBatch, ReplySender<Position>)>;

impl SqliteJournalWriter {
    /// Creates the writer of the journal in a folder; `place` names it in errors.
    pub(super) fn new(
        connection: Connection,
        (folder, place): (PathBuf, String),
        now: NowFn,
        loss: LossPolicy,
    ) -> Self {
        let wal = SqliteWal::of_database(&connection);
        Self { connection, folder, place, now, lead: None, loss, wal }
    }

    /// Serves requests until the queue is closed, then moves the WAL into the database file.
    #[expect(clippy::needless_pass_by_value, reason = "the thread owns its end of the channel")]
    pub(super) fn run(mut self, requests: Receiver<SqliteJournalWriteRequest>) {
        while let Ok(first) = requests.recv() {
            let mut group = AppendGroup::new();
            for request in [first].into_iter().chain(requests.try_iter().take(QUEUED_REQUESTS_MAX))
            {
                self.serve(request, &mut group);
            }
            self.write(group);
            self.preallocate_wal();
        }
        self.close();
    }

    /// Adds a batch to the group, or serves any other request after the batches before it.
    fn serve(&mut self, request: SqliteJournalWriteRequest, group: &mut AppendGroup) {
        if !matches!(request, SqliteJournalWriteRequest::Append { .. }) {
            self.write(std::mem::take(group));
        }
        match request {
            SqliteJournalWriteRequest::Append { batch, answer } => group.push((batch, answer)),
            SqliteJournalWriteRequest::Campaign { candidate, answer } => {
                reply(answer, self.campaign(&candidate));
            }
            SqliteJournalWriteRequest::Condemn { term, run, answer } => {
                reply(answer, self.condemn(term, run));
            }
            SqliteJournalWriteRequest::Prune { upto, answer } => reply(answer, self.prune(upto)),
            SqliteJournalWriteRequest::ImportBatches { batches, answer } => {
                reply(answer, self.import_batches(&batches));
            }
            SqliteJournalWriteRequest::FinishImport { pruned, term, answer } => {
                reply(answer, self.finish_import(pruned, term));
            }
            SqliteJournalWriteRequest::MarkRestored { answer } => {
                reply(answer, self.mark_restored());
            }
            SqliteJournalWriteRequest::Renew { term, answer } => reply(answer, self.renew(term)),
            SqliteJournalWriteRequest::Resign { term, answer } => {
                self.resign(term);
                reply(answer, Ok(()));
            }
        }
    }

    /// Writes a group and replies to each batch when the group is durable. If SQLite fails, nothing is written and
    /// every batch gets the error. This includes the refused ones: their refusal may depend on rows that were rolled
    /// back.
    fn write(&mut self, group: AppendGroup) {
        if group.is_empty() {
            return;
        }
        match self.commit(&group) {
            Ok(verdicts) => {
                self.record(&group, &verdicts);
                group.into_iter().zip(verdicts).for_each(|((_, a), v)| reply(a, v));
            }
            Err(error) => group.into_iter().for_each(|(_, a)| reply(a, Err(error.clone()))),
        }
    }

    /// Records the last batch of a group before any of it is acknowledged.
    fn record(&mut self, group: &AppendGroup, verdicts: &[Result<Position, StoreError>]) {
        let taken = group.iter().zip(verdicts).filter(|(_, verdict)| verdict.is_ok());
        let last = taken.map(|((batch, _), _)| (batch.position, batch.name)).max();
        if let (Some((position, batch)), Some(lead)) = (last, &mut self.lead) {
            lead.record(position, batch);
        }
    }

    /// Preallocates space for the WAL. It runs after all replies, so it delays only the next request.
    fn preallocate_wal(&mut self) {
        if self.lead.is_none() || !self.wal.needs_preallocation() {
            return;
        }
        let Self { connection, wal, .. } = self;
        // An error that prevents the transaction is reported by the next append.
        drop(transact(connection, |transaction| {
            wal.preallocate(transaction);
            Ok(())
        }));
    }

    fn commit(
        &mut self,
        group: &AppendGroup,
    ) -> Result<Vec<Result<Position, StoreError>>, StoreError> {
        let won = self.lead.as_ref().map(|lead| lead.term);
        self.transaction(|transaction| {
            let current = leader(transaction)?.map_or(Term(0), |leader| leader.term);
            let mut head = head(transaction)?;
            let mut verdicts = Vec::with_capacity(group.len());
            for (batch, _) in group {
                let leads = batch.term == current && won == Some(current);
                verdicts.push(if leads {
                    append(transaction, batch, &mut head)?
                } else {
                    Err(StoreError::Stale { term: batch.term, current })
                });
            }
            Ok(verdicts)
        })
    }

    /// Campaigns. The lock on the file decides. It is taken inside the transaction that takes the term, so that a
    /// losing candidate finds the name of the holder.
    fn campaign(&mut self, candidate: &LeaderCandidate) -> Result<CampaignOutcome, StoreError> {
        if let Some(lead) = &self.lead
            && self.current()? != lead.term
        {
            // Another process won although this one has the lock: the lock file was deleted, so this lock is void.
            self.lead = None;
        }
        let (folder, place, now) = (self.folder.clone(), self.place.clone(), (self.now)());
        let loss = self.loss;
        let attempt = self.transaction(|transaction| {
            Ok(match LeaderLock::take(&folder) {
                Ok(None) => LockAttempt::Taken(leader(transaction)?),
                Err(error) => LockAttempt::Failed(failure::from_io(&place, &error)),
                Ok(Some(lock)) => {
                    let found = FolderInspection { folder: &folder, place: &place, loss };
                    match found.inspect(transaction) {
                        Ok((head, proof, head_file)) => {
                            let term = take_term(transaction, candidate, now, proof.0)?;
                            LockAttempt::Won(HeldTerm { term, lock, head_file }, head, proof)
                        }
                        Err(error) => LockAttempt::Failed(error),
                    }
                }
            })
        })?;
        match attempt {
            LockAttempt::Won(lead, head, (history, since_head)) => {
                let term = lead.term;
                self.lead = Some(lead);
                Ok(CampaignOutcome::Won(JournalLeadership {
                    term,
                    head,
                    now,
                    generation: 0,
                    history,
                    since_head,
                    since_led: None,
                    lasts: None,
                }))
            }
            LockAttempt::Taken(Some(SqliteLeaderRow { node, pid, address, .. })) => {
                Ok(CampaignOutcome::LedBy { node, pid, address })
            }
            // The holder could not commit its first term, and is about to release the lock.
            LockAttempt::Taken(None) => {
                Err(failure::unavailable(&self.place, "its leader is not known yet"))
            }
            LockAttempt::Failed(error) => Err(error),
        }
    }

    /// Prunes the oldest batches, a bounded number per call.
    fn prune(&mut self, upto: Position) -> Result<Position, StoreError> {
        let Self { folder, place, connection, .. } = &*self;
        let snapshots = SnapshotFolder { folder, place, journal: connection };
        let upto = to_sql(upto.min(snapshots.last_to_remove()?).0);
        self.transaction(|transaction| {
            let mut last = transaction.prepare_cached(statement::LAST_TO_PRUNE)?;
            let last: Option<i64> = last.query_row((upto, PRUNED_AT_ONCE), |row| row.get(0))?;
            if let Some(last) = last {
                transaction.prepare_cached(statement::PRUNE)?.execute([last])?;
                transaction.prepare_cached(statement::NOTE_PRUNED)?.execute([last])?;
            }
            pruned(transaction)
        })
    }

    /// Writes batches of another journal unchanged.
    fn import_batches(&mut self, batches: &[EncodedBatch]) -> Result<(), StoreError> {
        self.transaction(|transaction| {
            batches.iter().try_for_each(|batch| write(transaction, batch))
        })
    }

    /// Continues the term numbers of another journal.
    fn finish_import(&mut self, pruned: Position, term: Term) -> Result<(), StoreError> {
        self.transaction(|transaction| {
            transaction.execute(statement::NOTE_PRUNED, [to_sql(pruned.0)])?;
            transaction.execute(statement::RAISE_TERM, [to_sql(term.0)]).map(drop)
        })
    }

    /// Records that the journal was restored. An empty journal was not.
    fn mark_restored(&mut self) -> Result<(), StoreError> {
        let sqlite = |error| failure::from_sqlite(&self.place, &error);
        let end = head(&self.connection).map_err(sqlite)?;
        let batch = batch_at(&self.connection, end).map_err(sqlite)?;
        let (Some(batch), Some(lead)) = (batch, &mut self.lead) else { return Ok(()) };
        let written = lead.head_file.write_restored(end, batch);
        written.map_err(|error| failure::from_io(&self.place, &error))
    }

    fn renew(&self, term: Term) -> Result<(), StoreError> {
        let current = self.current()?;
        let won = self.lead.as_ref().is_some_and(|lead| lead.term == term);
        if won && term == current { Ok(()) } else { Err(StoreError::Stale { term, current }) }
    }

    fn condemn(&mut self, term: Term, run: RunId) -> Result<(), StoreError> {
        self.renew(term)?;
        let known = condemned(&self.connection).map_err(|error| self.failure(&error))?;
        if known.len() >= CONDEMNED_MAX && !known.contains(&run) {
            return Err(failure::unusable(&self.place, too_many_condemned()));
        }
        self.transaction(|transaction| {
            transaction.execute(statement::CONDEMN, [run_to_sql(run)]).map(drop)
        })
    }

    fn resign(&mut self, term: Term) {
        drop(self.lead.take_if(|lead| lead.term == term));
    }

    fn current(&self) -> Result<Term, StoreError> {
        let row = leader(&self.connection).map_err(|error| self.failure(&error))?;
        Ok(row.map_or(Term(0), |leader| leader.term))
    }

    /// Runs `work` in a transaction and commits it, or rolls back if either fails.
    fn transaction<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        transact(&mut self.connection, work).map_err(|error| self.failure(&error))
    }

    fn failure(&self, error: &rusqlite::Error) -> StoreError {
        failure::from_sqlite(&self.place, error)
    }

    /// Moves the WAL into the database file. This is optional: the WAL is durable too, and the next process finds it
    /// there. So the call does not wait for readers of other processes.
    fn close(self) {
        drop(self.connection.busy_timeout(Duration::ZERO));
        drop(self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(())));
        drop(self.connection.close());
        drop(self.lead);
    }
}

fn transact<T>(
    connection: &mut Connection,
    work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    if !connection.is_autocommit() {
        // The roll-back of an earlier failure has failed. Repeat it until it succeeds.
        connection.execute_batch("ROLLBACK")?;
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let done = work(&transaction)?;
    transaction.commit()?;
    Ok(done)
}

fn append(
    transaction: &Transaction<'_>,
    batch: &EncodedBatch,
    head: &mut Position,
) -> rusqlite::Result<Result<Position, StoreError>> {
    if batch.after != *head {
        let gap = StoreError::Gap { after: batch.after, head: *head };
        return Ok(is_there(transaction, batch)?.then_some(batch.position).ok_or(gap));
    }
    write(transaction, batch)?;
    *head = batch.position;
    Ok(Ok(batch.position))
}

fn write(transaction: &Transaction<'_>, batch: &EncodedBatch) -> rusqlite::Result<()> {
    let row = params![
        to_sql(batch.position.0),
        to_sql(batch.after.0 + 1),
        to_sql(batch.term.0),
        batch.name.0.cast_signed(),
        batch.events,
    ];
    transaction.prepare_cached(statement::WRITE_BATCH)?.execute(row).map(drop)
}

/// Whether the batch is already written: its caller missed the reply and repeats the append.
fn is_there(transaction: &Transaction<'_>, batch: &EncodedBatch) -> rusqlite::Result<bool> {
    let mut next = transaction.prepare_cached(statement::NEXT_BATCH)?;
    let found = next.query_row([to_sql(batch.after.0)], batch_header).optional()?;
    Ok(found.is_some_and(|found| {
        found.first == batch.after.0 + 1
            && found.position == batch.position.0
            && found.term == batch.term
            && found.batch == batch.name
    }))
}

/// The inspection of the folder by the candidate that holds the lock.
struct FolderInspection<'a> {
    folder: &'a Path,
    place: &'a str,
    loss: LossPolicy,
}

impl FolderInspection<'_> {
    fn inspect(
        &self,
        connection: &Connection,
    ) -> Result<(Position, (StoreHistory, Span), HeadFile), StoreError> {
        let io = |error| failure::from_io(self.place, &error);
        let head = head(connection).map_err(|error| failure::from_sqlite(self.place, &error))?;
        let recorded = HeadRecord::read(self.folder).map_err(io)?;
        let place = (self.folder, self.place);
        let history = self.loss.check(connection, place, recorded.as_ref())?;
        let Self { folder, place, .. } = *self;
        SnapshotFolder { folder, place, journal: connection }.set_aside()?;
        let age = recorded.map_or(Span::ZERO, |recorded| recorded.age(history, head));
        Ok((head, (history, age), HeadFile::open(self.folder).map_err(io)?))
    }
}

fn take_term(
    transaction: &Transaction<'_>,
    candidate: &LeaderCandidate,
    now: Time,
    history: StoreHistory,
) -> rusqlite::Result<Term> {
    let LeaderCandidate { node, address } = candidate;
    let now = to_sql(now.as_millis());
    let at_least = if history == StoreHistory::Unbroken { 0 } else { now };
    let row = params![node, std::process::id(), address, now, at_least];
    let mut take = transaction.prepare_cached(statement::TAKE_TERM)?;
    take.query_row(row, |row| row.get::<_, i64>(0)).map(|term| Term(term.cast_unsigned()))
}

fn leader(connection: &Connection) -> rusqlite::Result<Option<SqliteLeaderRow>> {
    let mut statement = connection.prepare_cached(statement::LEADER)?;
    let read = statement.query_row((), |row| {
        Ok(SqliteLeaderRow {
            term: Term(row.get::<_, i64>("term")?.cast_unsigned()),
            node: row.get("node")?,
            pid: row.get("pid")?,
            address: row.get("address")?,
        })
    });
    read.optional()
}
