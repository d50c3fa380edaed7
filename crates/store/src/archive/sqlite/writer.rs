//! The thread that writes.
//!
//! It executes all waiting requests in one transaction. While the disk is busy with a commit, the next group collects. So
//! a slow disk makes larger groups, and no request waits for a timer.

use std::sync::mpsc::Receiver;
use std::time::Duration;

use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use windlass_core::id::RunId;
use windlass_core::time::Time;

use super::row::{ArchivedRunRow, time_to_sql};
use super::statement;
use crate::archive::event_chunks::{PRUNED_EVENTS_MAX, PRUNED_KEYS_MAX, split_into_chunks};
use crate::archive::{PAGE_MAX, SealedRun, SubmissionKeyClaim, SubmissionKeyOutcome, run_columns};
use crate::db::StoreError;
use crate::db::sql_number::{run_from_sql, run_to_sql, to_sql};
use crate::db::sqlite::failure;
use crate::db::sqlite::request_thread::{QUEUED_REQUESTS_MAX, ReplySender, reply};

/// A group takes no more runs after this number of events: compressing them takes about 60 ms, for which a claim may wait.
const GROUP_EVENTS_MAX: usize = 1 << 18;

#[derive(Debug)]
pub(super) enum SqliteArchiveWriteRequest {
    Keep { run: SealedRun, answer: ReplySender<()> },
    Claim { claim: SubmissionKeyClaim, answer: ReplySender<SubmissionKeyOutcome> },
    Prune { runs: Time, keys: Time, answer: ReplySender<Vec<RunId>> },
}

#[derive(Debug)]
pub(super) struct SqliteArchiveWriter {
    pub(super) connection: Connection,
    pub(super) place: String,
}

/// Requests that share a transaction. They wait at the same time, so they can be executed in any order.
#[derive(Debug, Default)]
struct ArchiveWriteGroup {
    keeps: WaitingRequests<SealedRun, ()>,
    claims: WaitingRequests<SubmissionKeyClaim, SubmissionKeyOutcome>,
    prunes: WaitingRequests<(Time, Time), Vec<RunId>>,
}

/// Requests of one kind, with the senders of their results.
#[derive(Debug)]
struct WaitingRequests<Q, A> {
    requests: Vec<Q>,
    answers: Vec<ReplySender<A>>,
}

impl SqliteArchiveWriter {
    /// Serves requests until the queue is closed, then moves the WAL into the database file.
    #[expect(clippy::needless_pass_by_value, reason = "the thread owns its end of the channel")]
    pub(super) fn run(mut self, requests: Receiver<SqliteArchiveWriteRequest>) {
        while let Ok(first) = requests.recv() {
            let mut group = ArchiveWriteGroup::default();
            group.add(first);
            while group.has_room()
                && let Ok(next) = requests.try_recv()
            {
                group.add(next);
            }
            self.write(group);
        }
        self.close();
    }

    /// Executes a group, and replies when it is durable. If a statement fails, the transaction is rolled back and each
    /// request fails.
    fn write(&mut self, group: ArchiveWriteGroup) {
        let ArchiveWriteGroup { keeps, claims, prunes } = group;
        let done = transact(&mut self.connection, |transaction| {
            let kept = each(keeps.requests, |run| keep(transaction, &run))?;
            let claimed = each(claims.requests, |claim| bind(transaction, &claim))?;
            let pruned = each(prunes.requests, |(runs, keys)| prune(transaction, runs, keys))?;
            Ok((kept, claimed, pruned))
        });
        match done {
            Ok((kept, claimed, pruned)) => {
                reply_all(keeps.answers, kept);
                reply_all(claims.answers, claimed);
                reply_all(prunes.answers, pruned);
            }
            Err(error) => {
                let error = failure::from_sqlite(&self.place, &error);
                fail_all(keeps.answers, &error);
                fail_all(claims.answers, &error);
                fail_all(prunes.answers, &error);
            }
        }
    }

    /// Moves the WAL into the database file. This is optional, because the WAL is durable too. So it does not wait for
    /// readers of other processes.
    fn close(self) {
        drop(self.connection.busy_timeout(Duration::ZERO));
        drop(self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(())));
        drop(self.connection.close());
    }
}

impl ArchiveWriteGroup {
    fn add(&mut self, request: SqliteArchiveWriteRequest) {
        match request {
            SqliteArchiveWriteRequest::Keep { run, answer } => self.keeps.add(run, answer),
            SqliteArchiveWriteRequest::Claim { claim, answer } => self.claims.add(claim, answer),
            SqliteArchiveWriteRequest::Prune { runs, keys, answer } => {
                self.prunes.add((runs, keys), answer);
            }
        }
    }

    fn has_room(&self) -> bool {
        let events: usize = self.keeps.requests.iter().map(|run| run.events.len()).sum();
        let requests = self.keeps.requests.len() + self.claims.requests.len();
        events < GROUP_EVENTS_MAX
            && requests < QUEUED_REQUESTS_MAX
            && self.prunes.requests.is_empty()
    }
}

impl<Q, A> WaitingRequests<Q, A> {
    fn add(&mut self, request: Q, answer: ReplySender<A>) {
        self.requests.push(request);
        self.answers.push(answer);
    }
}

impl<Q, A> Default for WaitingRequests<Q, A> {
    fn default() -> Self {
        Self { requests: Vec::new(), answers: Vec::new() }
    }
}

fn each<Q, A>(
    requests: Vec<Q>,
    perform: impl FnMut(Q) -> rusqlite::Result<A>,
) -> rusqlite::Result<Vec<A>> {
    requests.into_iter().map(perform).collect()
}

fn reply_all<A>(answers: Vec<ReplySender<A>>, results: Vec<A>) {
    answers.into_iter().zip(results).for_each(|(answer, result)| reply(answer, Ok(result)));
}

fn fail_all<A>(answers: Vec<ReplySender<A>>, error: &StoreError) {
    for answer in answers {
        reply(answer, Err(error.clone()));
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

/// Writes a run chunk by chunk, so that the memory never has a second copy of all events.
fn keep(transaction: &Transaction<'_>, sealed: &SealedRun) -> rusqlite::Result<()> {
    let SealedRun { record, events } = sealed;
    let run = run_to_sql(record.run);
    let last = events.last().unwrap_or_default();
    let count = events.len() as u64;
    let written = transaction.prepare_cached(statement::WRITE_RUN)?.execute(params![
        run,
        record.pipeline,
        record.status.to_string(),
        time_to_sql(record.submitted_at),
        time_to_sql(record.ended_at),
        record.steps,
        to_sql(count),
        to_sql(last.0),
        run_columns::workers_to_json(&record.workers),
        run_columns::row_checksum(record, count, last),
    ])?;
    if written == 0 {
        // The archive has all these events already.
        return Ok(());
    }
    transaction.prepare_cached(statement::DROP_CHUNKS)?.execute([run])?;
    let mut insert = transaction.prepare_cached(statement::WRITE_CHUNK)?;
    for part in split_into_chunks(events) {
        insert.execute(params![run, to_sql(part.last.0), to_sql(part.follows.0), part.bytes])?;
    }
    Ok(())
}

fn bind(
    transaction: &Transaction<'_>,
    claim: &SubmissionKeyClaim,
) -> rusqlite::Result<SubmissionKeyOutcome> {
    let row = params![claim.key, claim.body, run_to_sql(claim.run), time_to_sql(claim.at)];
    if transaction.prepare_cached(statement::WRITE_KEY)?.execute(row)? > 0 {
        return Ok(SubmissionKeyOutcome::New);
    }
    let mut bound = transaction.prepare_cached(statement::KEY)?;
    bound.query_row([&claim.key], |row| {
        let (body, run) = (row.get::<_, [u8; 32]>("body")?, run_from_sql(row.get("run")?));
        Ok(if body == claim.body {
            SubmissionKeyOutcome::Known(run)
        } else {
            SubmissionKeyOutcome::Conflict(run)
        })
    })
}

fn prune(transaction: &Transaction<'_>, runs: Time, keys: Time) -> rusqlite::Result<Vec<RunId>> {
    let dropped = runs_ended_before(transaction, runs)?;
    for run in &dropped {
        transaction.prepare_cached(statement::DROP_CHUNKS)?.execute([run])?;
        transaction.prepare_cached(statement::DROP_RUN)?.execute([run])?;
    }
    let mut drop_keys = transaction.prepare_cached(statement::DROP_KEYS)?;
    drop_keys.execute([time_to_sql(keys), to_sql(PRUNED_KEYS_MAX)])?;
    Ok(dropped.into_iter().map(run_from_sql).collect())
}

/// Returns the runs to delete: those that ended first, at least one, up to the limit of one call.
fn runs_ended_before(transaction: &Transaction<'_>, before: Time) -> rusqlite::Result<Vec<i64>> {
    let mut statement = transaction.prepare_cached(statement::ENDED)?;
    let mut rows = statement.query([time_to_sql(before), to_sql(PAGE_MAX as u64)])?;
    let (mut runs, mut events) = (Vec::new(), 0_u64);
    while events < PRUNED_EVENTS_MAX
        && let Some(row) = rows.next()?
    {
        // A damaged row may have a wrong time, so its run stays.
        if let Ok(line) = ArchivedRunRow::from_row(row) {
            runs.push(run_to_sql(line.record.run));
            events = events.saturating_add(line.events);
        }
    }
    Ok(runs)
}
