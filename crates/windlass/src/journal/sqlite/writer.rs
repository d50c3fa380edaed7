//! The one thread that writes.
//!
//! It takes all requests that wait and writes their batches in one transaction: while the disk is busy with a commit
//! the next group gathers, so a slow disk makes larger groups and nothing waits for a timer.

use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use windlass_core::engine::StoreHistory;
use windlass_core::id::{RunId, Term};
use windlass_core::time::{Span, Time};

use super::head_file::{Head, HeadFile};
use super::lead_file::LeadFile;
use super::loss::Loss;
use super::reader::{condemned, head, key, pruned};
use super::snapshots::Snapshots;
use super::statement;
use crate::journal::batch::Batch;
use crate::journal::condemned::{CONDEMNED_MAX, too_many_condemned};
use crate::journal::{BatchId, Campaign, Candidate, Leadership, Position};
use crate::store::number::{run_to_sql, to_sql};
use crate::store::sqlite::desk::{Answer, WAITING_MAX, tell};
use crate::store::sqlite::failure;
use crate::store::sqlite::wal::Wal;
use crate::store::{Now, StoreError};

#[derive(Debug)]
pub(super) enum Request {
    Campaign { candidate: Candidate, answer: Answer<Campaign> },
    Renew { term: Term, answer: Answer<()> },
    Resign { term: Term, answer: Answer<()> },
    Append { batch: Batch, answer: Answer<Position> },
    Condemn { term: Term, run: RunId, answer: Answer<()> },
    Prune { upto: Position, answer: Answer<Position> },
    Plant { batches: Vec<Batch>, answer: Answer<()> },
    Root { pruned: Position, term: Term, answer: Answer<()> },
}

/// How many batches go in one transaction: no commit waits longer for it than for another batch.
const PRUNED_AT_ONCE: i64 = 256;

#[derive(Debug)]
pub(super) struct Writer {
    connection: Connection,
    folder: PathBuf,
    place: String,
    now: Now,
    lead: Option<Lead>,
    loss: Loss,
    wal: Wal,
}

/// The term that this process won, for as long as it has the lock.
#[derive(Debug)]
struct Lead {
    term: Term,
    lock: LeadFile,
    head_file: HeadFile,
}

impl Lead {
    /// Writes down how far the journal reaches now. One that cannot be written still says less than the journal has.
    fn record(&mut self, position: Position, batch: BatchId) {
        let recorded = self.lock.time();
        drop(recorded.and_then(|time| self.head_file.write(position, batch, time)));
    }
}

/// The row of the leader.
struct Leader {
    term: Term,
    node: String,
    pid: Option<u32>,
    address: Option<String>,
}

/// What came of asking for the lock. A lock in here is let go if the transaction around it fails.
enum Asked {
    Won(Lead, Position, (StoreHistory, Span)),
    Taken(Option<Leader>),
    Failed(StoreError),
}

type Group = Vec<(Batch, Answer<Position>)>;

impl Writer {
    /// Writes to the journal in a folder, which errors call by this name.
    pub(super) fn new(
        connection: Connection,
        (folder, place): (PathBuf, String),
        now: Now,
        loss: Loss,
    ) -> Self {
        let wal = Wal::of(&connection);
        Self { connection, folder, place, now, lead: None, loss, wal }
    }

    /// Serves until the desk is closed, then leaves the journal in its one file.
    #[expect(clippy::needless_pass_by_value, reason = "the thread owns its end of the channel")]
    pub(super) fn run(mut self, requests: Receiver<Request>) {
        while let Ok(first) = requests.recv() {
            let mut group = Group::new();
            for request in [first].into_iter().chain(requests.try_iter().take(WAITING_MAX)) {
                self.serve(request, &mut group);
            }
            self.write(group);
            self.make_room();
        }
        self.close();
    }

    /// Batches join the group; any other request is served in its turn, behind the batches before it.
    fn serve(&mut self, request: Request, group: &mut Group) {
        if !matches!(request, Request::Append { .. }) {
            self.write(std::mem::take(group));
        }
        match request {
            Request::Append { batch, answer } => group.push((batch, answer)),
            Request::Campaign { candidate, answer } => tell(answer, self.campaign(&candidate)),
            Request::Condemn { term, run, answer } => tell(answer, self.condemn(term, run)),
            Request::Prune { upto, answer } => tell(answer, self.prune(upto)),
            Request::Plant { batches, answer } => tell(answer, self.plant(&batches)),
            Request::Root { pruned, term, answer } => tell(answer, self.root(pruned, term)),
            Request::Renew { term, answer } => tell(answer, self.renew(term)),
            Request::Resign { term, answer } => {
                self.resign(term);
                tell(answer, Ok(()));
            }
        }
    }

    /// Writes a group, and tells each batch when the group is durable. If SQLite fails anywhere, nothing of it was
    /// written and each is told so, also those that were refused: they may have been judged by what is not there.
    fn write(&mut self, group: Group) {
        if group.is_empty() {
            return;
        }
        match self.commit(&group) {
            Ok(verdicts) => {
                self.record(&group, &verdicts);
                group.into_iter().zip(verdicts).for_each(|((_, a), v)| tell(a, v));
            }
            Err(error) => group.into_iter().for_each(|(_, a)| tell(a, Err(error.clone()))),
        }
    }

    /// Writes down the last batch of a group before anything of it is acknowledged.
    fn record(&mut self, group: &Group, verdicts: &[Result<Position, StoreError>]) {
        let taken = group.iter().zip(verdicts).filter(|(_, verdict)| verdict.is_ok());
        let last = taken.map(|((batch, _), _)| (batch.position, batch.name)).max();
        if let (Some((position, batch)), Some(lead)) = (last, &mut self.lead) {
            lead.record(position, batch);
        }
    }

    /// When everybody has been told: only who comes next may have to wait for it.
    fn make_room(&mut self) {
        if self.lead.is_none() || !self.wal.is_outgrown() {
            return;
        }
        let Self { connection, wal, .. } = self;
        // Whatever keeps a transaction from beginning here, the next append will tell.
        drop(transact(connection, |transaction| {
            wal.make_room(transaction);
            Ok(())
        }));
    }

    fn commit(&mut self, group: &Group) -> Result<Vec<Result<Position, StoreError>>, StoreError> {
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

    /// The lock on the file decides, and it is asked for inside the transaction that takes the term: whoever finds it
    /// taken there finds the name of who has it, too.
    fn campaign(&mut self, candidate: &Candidate) -> Result<Campaign, StoreError> {
        if let Some(lead) = &self.lead
            && self.current()? != lead.term
        {
            // Another process won although this one has the lock: somebody deleted the file. It is worth nothing now.
            self.lead = None;
        }
        let (folder, place, now) = (self.folder.clone(), self.place.clone(), (self.now)());
        let loss = self.loss;
        let asked = self.transaction(|transaction| {
            Ok(match LeadFile::take(&folder) {
                Ok(None) => Asked::Taken(leader(transaction)?),
                Err(error) => Asked::Failed(failure::of_io(&place, &error)),
                Ok(Some(lock)) => {
                    let found = Found { folder: &folder, place: &place, loss };
                    match found.look(transaction) {
                        Ok((head, proof, head_file)) => {
                            let term = take_term(transaction, candidate, now, proof.0)?;
                            Asked::Won(Lead { term, lock, head_file }, head, proof)
                        }
                        Err(error) => Asked::Failed(error),
                    }
                }
            })
        })?;
        match asked {
            Asked::Won(lead, head, (history, since_head)) => {
                let term = lead.term;
                self.lead = Some(lead);
                Ok(Campaign::Won(Leadership {
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
            Asked::Taken(Some(Leader { node, pid, address, .. })) => {
                Ok(Campaign::LedBy { node, pid, address })
            }
            // Whoever had it could not commit its first term, and is about to let go.
            Asked::Taken(None) => {
                Err(failure::unavailable(&self.place, "its lock is taken by nobody yet"))
            }
            Asked::Failed(error) => Err(error),
        }
    }

    /// Lets the oldest batches go, a bounded number of them: who wants more asks again.
    fn prune(&mut self, upto: Position) -> Result<Position, StoreError> {
        let Self { folder, place, connection, .. } = &*self;
        let snapshots = Snapshots { folder, place, journal: connection };
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

    /// Writes batches of another journal as they are.
    fn plant(&mut self, batches: &[Batch]) -> Result<(), StoreError> {
        self.transaction(|transaction| {
            batches.iter().try_for_each(|batch| write(transaction, batch))
        })
    }

    /// Has terms go on behind those of another journal.
    fn root(&mut self, pruned: Position, term: Term) -> Result<(), StoreError> {
        self.transaction(|transaction| {
            transaction.execute(statement::NOTE_PRUNED, [to_sql(pruned.0)])?;
            transaction.execute(statement::RAISE_TERM, [to_sql(term.0)]).map(drop)
        })
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

    /// Does `work` and commits it. If either fails, nothing of it is left.
    fn transaction<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        transact(&mut self.connection, work).map_err(|error| self.failure(&error))
    }

    fn failure(&self, error: &rusqlite::Error) -> StoreError {
        failure::of_sqlite(&self.place, error)
    }

    /// Brings the WAL into the file. Nothing rests on it: what is in the WAL is durable too, and the next who opens the
    /// journal finds it there. So a reader of another process that is in the way is not waited for.
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
        // The roll-back of an earlier failure failed itself. It is repeated until it works.
        connection.execute_batch("ROLLBACK")?;
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let done = work(&transaction)?;
    transaction.commit()?;
    Ok(done)
}

fn append(
    transaction: &Transaction<'_>,
    batch: &Batch,
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

fn write(transaction: &Transaction<'_>, batch: &Batch) -> rusqlite::Result<()> {
    let row = params![
        to_sql(batch.position.0),
        to_sql(batch.after.0 + 1),
        to_sql(batch.term.0),
        batch.name.0.cast_signed(),
        batch.events,
    ];
    transaction.prepare_cached(statement::WRITE_BATCH)?.execute(row).map(drop)
}

/// Whether the batch was written before: its caller did not hear of it and repeats it.
fn is_there(transaction: &Transaction<'_>, batch: &Batch) -> rusqlite::Result<bool> {
    let mut next = transaction.prepare_cached(statement::NEXT_BATCH)?;
    let found = next.query_row([to_sql(batch.after.0)], key).optional()?;
    Ok(found.is_some_and(|found| {
        found.first == batch.after.0 + 1
            && found.position == batch.position.0
            && found.term == batch.term
            && found.batch == batch.name
    }))
}

/// What a candidate that has the lock finds in the folder.
struct Found<'a> {
    folder: &'a Path,
    place: &'a str,
    loss: Loss,
}

impl Found<'_> {
    fn look(
        &self,
        connection: &Connection,
    ) -> Result<(Position, (StoreHistory, Span), HeadFile), StoreError> {
        let io = |error| failure::of_io(self.place, &error);
        let head = head(connection).map_err(|error| failure::of_sqlite(self.place, &error))?;
        let recorded = Head::read(self.folder).map_err(io)?;
        let place = (self.folder, self.place);
        let history = self.loss.check(connection, place, recorded.as_ref())?;
        let Self { folder, place, .. } = *self;
        Snapshots { folder, place, journal: connection }.set_aside()?;
        let age = recorded.map_or(Span::ZERO, |recorded| recorded.age(history, head));
        Ok((head, (history, age), HeadFile::open(self.folder).map_err(io)?))
    }
}

fn take_term(
    transaction: &Transaction<'_>,
    candidate: &Candidate,
    now: Time,
    history: StoreHistory,
) -> rusqlite::Result<Term> {
    let Candidate { node, address } = candidate;
    let now = to_sql(now.as_millis());
    let at_least = if history == StoreHistory::Unbroken { 0 } else { now };
    let row = params![node, std::process::id(), address, now, at_least];
    let mut take = transaction.prepare_cached(statement::TAKE_TERM)?;
    take.query_row(row, |row| row.get::<_, i64>(0)).map(|term| Term(term.cast_unsigned()))
}

fn leader(connection: &Connection) -> rusqlite::Result<Option<Leader>> {
    let mut statement = connection.prepare_cached(statement::LEADER)?;
    let read = statement.query_row((), |row| {
        Ok(Leader {
            term: Term(row.get::<_, i64>("term")?.cast_unsigned()),
            node: row.get("node")?,
            pid: row.get("pid")?,
            address: row.get("address")?,
        })
    });
    read.optional()
}
