//! The one thread that writes.
//!
//! It takes the requests that wait and does them in one transaction: while the disk is busy with a commit the next
//! group gathers, so a slow disk makes larger groups and nothing waits for a timer.

use std::sync::mpsc::Receiver;
use std::time::Duration;

use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use windlass_core::id::RunId;
use windlass_core::time::Time;

use super::row::{RunLine, time_to_sql};
use super::statement;
use crate::archive::parts::{PRUNED_EVENTS_MAX, PRUNED_KEYS_MAX, parts};
use crate::archive::{Claim, Claimed, PAGE_MAX, SealedRun, words};
use crate::store::StoreError;
use crate::store::number::{run_of_sql, run_to_sql, to_sql};
use crate::store::sqlite::desk::{Answer, WAITING_MAX, tell};
use crate::store::sqlite::failure;

/// A group takes no more runs when it has so many events: about 60 ms of packing, for which a claim may wait.
const GROUP_MAX: usize = 1 << 18;

#[derive(Debug)]
pub(super) enum Request {
    Keep { run: SealedRun, answer: Answer<()> },
    Claim { claim: Claim, answer: Answer<Claimed> },
    Prune { runs: Time, keys: Time, answer: Answer<Vec<RunId>> },
}

#[derive(Debug)]
pub(super) struct Writer {
    pub(super) connection: Connection,
    pub(super) place: String,
}

/// Requests that share a transaction. They wait together, so any order among them is right.
#[derive(Debug, Default)]
struct Group {
    keeps: Waiting<SealedRun, ()>,
    claims: Waiting<Claim, Claimed>,
    prunes: Waiting<(Time, Time), Vec<RunId>>,
}

/// Requests of one kind, and where their results go.
#[derive(Debug)]
struct Waiting<Q, A> {
    requests: Vec<Q>,
    answers: Vec<Answer<A>>,
}

impl Writer {
    /// Serves until the desk is closed, then leaves the archive in its one file.
    #[expect(clippy::needless_pass_by_value, reason = "the thread owns its end of the channel")]
    pub(super) fn run(mut self, requests: Receiver<Request>) {
        while let Ok(first) = requests.recv() {
            let mut group = Group::default();
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

    /// Does what a group asks, and tells each when the group is durable. If SQLite fails anywhere, nothing of it was
    /// done and each is told so.
    fn write(&mut self, group: Group) {
        let Group { keeps, claims, prunes } = group;
        let done = transact(&mut self.connection, |transaction| {
            let kept = each(keeps.requests, |run| keep(transaction, &run))?;
            let claimed = each(claims.requests, |claim| bind(transaction, &claim))?;
            let pruned = each(prunes.requests, |(runs, keys)| prune(transaction, runs, keys))?;
            Ok((kept, claimed, pruned))
        });
        match done {
            Ok((kept, claimed, pruned)) => {
                tell_all(keeps.answers, kept);
                tell_all(claims.answers, claimed);
                tell_all(prunes.answers, pruned);
            }
            Err(error) => {
                let error = failure::of_sqlite(&self.place, &error);
                refuse_all(keeps.answers, &error);
                refuse_all(claims.answers, &error);
                refuse_all(prunes.answers, &error);
            }
        }
    }

    /// Brings the WAL into the file. Nothing rests on it: what is in the WAL is durable too. So a reader of another
    /// process that is in the way is not waited for.
    fn close(self) {
        drop(self.connection.busy_timeout(Duration::ZERO));
        drop(self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(())));
        drop(self.connection.close());
    }
}

impl Group {
    fn add(&mut self, request: Request) {
        match request {
            Request::Keep { run, answer } => self.keeps.add(run, answer),
            Request::Claim { claim, answer } => self.claims.add(claim, answer),
            Request::Prune { runs, keys, answer } => self.prunes.add((runs, keys), answer),
        }
    }

    fn has_room(&self) -> bool {
        let events: usize = self.keeps.requests.iter().map(|run| run.events.len()).sum();
        let requests = self.keeps.requests.len() + self.claims.requests.len();
        events < GROUP_MAX && requests < WAITING_MAX && self.prunes.requests.is_empty()
    }
}

impl<Q, A> Waiting<Q, A> {
    fn add(&mut self, request: Q, answer: Answer<A>) {
        self.requests.push(request);
        self.answers.push(answer);
    }
}

impl<Q, A> Default for Waiting<Q, A> {
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

fn tell_all<A>(answers: Vec<Answer<A>>, results: Vec<A>) {
    answers.into_iter().zip(results).for_each(|(answer, result)| tell(answer, Ok(result)));
}

fn refuse_all<A>(answers: Vec<Answer<A>>, error: &StoreError) {
    for answer in answers {
        tell(answer, Err(error.clone()));
    }
}

fn transact<T>(
    connection: &mut Connection,
    work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    if !connection.is_autocommit() {
        // The roll-back of an earlier failure failed itself. It is repeated until it works.
        connection.execute_batch("ROLLBACK")?;
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let done = work(&transaction)?;
    transaction.commit()?;
    Ok(done)
}

/// Writes a run, chunk by chunk, so that no second copy of all of it is ever made.
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
        words::of_workers(&record.workers),
        words::check(record, count, last),
    ])?;
    if written == 0 {
        // It is there already, with all these events.
        return Ok(());
    }
    transaction.prepare_cached(statement::DROP_CHUNKS)?.execute([run])?;
    let mut insert = transaction.prepare_cached(statement::WRITE_CHUNK)?;
    for part in parts(events) {
        insert.execute(params![run, to_sql(part.last.0), to_sql(part.follows.0), part.bytes])?;
    }
    Ok(())
}

fn bind(transaction: &Transaction<'_>, claim: &Claim) -> rusqlite::Result<Claimed> {
    let row = params![claim.key, claim.body, run_to_sql(claim.run), time_to_sql(claim.at)];
    if transaction.prepare_cached(statement::WRITE_KEY)?.execute(row)? > 0 {
        return Ok(Claimed::New);
    }
    let mut bound = transaction.prepare_cached(statement::KEY)?;
    bound.query_row([&claim.key], |row| {
        let (body, run) = (row.get::<_, [u8; 32]>("body")?, run_of_sql(row.get("run")?));
        Ok(if body == claim.body { Claimed::Known(run) } else { Claimed::Conflict(run) })
    })
}

fn prune(transaction: &Transaction<'_>, runs: Time, keys: Time) -> rusqlite::Result<Vec<RunId>> {
    let dropped = ended(transaction, runs)?;
    for run in &dropped {
        transaction.prepare_cached(statement::DROP_CHUNKS)?.execute([run])?;
        transaction.prepare_cached(statement::DROP_RUN)?.execute([run])?;
    }
    let mut drop_keys = transaction.prepare_cached(statement::DROP_KEYS)?;
    drop_keys.execute([time_to_sql(keys), to_sql(PRUNED_KEYS_MAX)])?;
    Ok(dropped.into_iter().map(run_of_sql).collect())
}

/// The runs to drop: those that ended first, up to what one call may drop, and at least one.
fn ended(transaction: &Transaction<'_>, before: Time) -> rusqlite::Result<Vec<i64>> {
    let mut statement = transaction.prepare_cached(statement::ENDED)?;
    let mut rows = statement.query([time_to_sql(before), to_sql(PAGE_MAX as u64)])?;
    let (mut runs, mut events) = (Vec::new(), 0_u64);
    while events < PRUNED_EVENTS_MAX
        && let Some(row) = rows.next()?
    {
        // One that is damaged may not be as old as it says: it stays.
        if let Ok(line) = RunLine::of(row) {
            runs.push(run_to_sql(line.record.run));
            events = events.saturating_add(line.events);
        }
    }
    Ok(runs)
}
