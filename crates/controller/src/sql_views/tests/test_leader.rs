//! An engine whose decisions are published, workers in one line each, and the tables as text.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;
use windlass_core::engine::{
    Engine, EngineAnswer, EngineConfig, EngineRequest, ProvenTime, StoreHistory, SubmitRun,
};
use windlass_core::id::{Incarnation, RunId, Seq, Term, WorkerId};
use windlass_core::leader::LeaderLease;
use windlass_core::outcome::Outcome;
use windlass_core::plan::Plan;
use windlass_core::requirement::{Labels, WorkerScope};
use windlass_core::session::{
    Exchange, ExchangeReply, FinishedAttempt, FormerIncarnationProof, InFlightLease, LeasePhase,
    LeaseRef, RegisterRequest, WorkerLocality,
};
use windlass_core::time::{Span, Time};
use windlass_net::clock::ProcessClock;
use windlass_net::shutdown::ShutdownSender;
use windlass_store::db::StoreError;
use windlass_store::journal::{BatchId, EventBatch, Journal, MemoryJournal, Position};
use windlass_store::sql_views::{SqlViews, SqliteSqlViews};

use crate::engine_view::SharedView;
use crate::leader_lease::LeaderLeaseStatus;
use crate::published_events::PublishedEvents;
use crate::sql_views::SqlViewUpdater;

pub(super) const START: Time = Time::from_millis(1_790_000_000_000);

/// A leader, as far as the tables see it.
pub(super) struct SqlViewTestLeader {
    pub(super) engine: Engine,
    pub(super) views: Arc<SharedView>,
    pub(super) now: Time,
    position: u64,
    hands: BTreeMap<WorkerId, SqlViewTestWorker>,
}

/// A worker, as far as the leader sees it.
#[derive(Default)]
pub(super) struct SqlViewTestWorker {
    incarnation: Incarnation,
    seq: Seq,
    seen: Seq,
    pub(super) held: Vec<LeaseRef>,
    finished: Vec<FinishedAttempt>,
}

impl SqlViewTestLeader {
    pub(super) fn new() -> Self {
        let engine = Engine::new(EngineConfig::default());
        let views = Arc::new(SharedView::new((engine.clone(), Position(0), None)));
        let mut leader = Self { engine, views, now: START, position: 0, hands: BTreeMap::new() };
        leader.lead(1);
        leader.views.set_leads(Some(endless_lease()));
        leader
    }

    pub(super) fn ask(&mut self, request: EngineRequest) -> EngineAnswer {
        self.now = self.now + Span::millis(3);
        let decision = self.engine.decide(request, self.now, self.position);
        if !decision.events.is_empty() {
            let after = Position(self.position);
            self.position += decision.events.len() as u64;
            let events = decision.events.into_iter().map(|event| (decision.at, event));
            let batch = EventBatch::new(Term(1), BatchId(after.0), after, events);
            self.views.publish(PublishedEvents::new(Arc::new(batch))).expect("it works in a test");
        }
        decision.replies.into_iter().for_each(|reply| self.handle_reply(reply));
        decision.answer
    }

    fn handle_reply(&mut self, reply: ExchangeReply) {
        let (Some(hand), Ok(body)) = (self.hands.get_mut(&reply.worker), reply.body) else {
            return;
        };
        hand.seen = hand.seen.max(reply.seq);
        let judged =
            |it: &FinishedAttempt| body.verdicts.iter().any(|(fence, _)| *fence == it.lease.fence);
        hand.finished.retain(|it| !judged(it));
        hand.held.extend(body.grants.iter().map(|grant| grant.lease));
    }

    pub(super) fn lead(&mut self, term: u64) {
        let (ttl, own) = (Span::secs(15), Some(WorkerId(1)));
        self.ask(EngineRequest::Lead {
            term: Term(term),
            ttl,
            generation: 0,
            own,
            history: StoreHistory::Unbroken,
            proven: ProvenTime::ALL,
        });
    }

    pub(super) fn join(&mut self, id: u64, slots: u32) {
        let known = self.hands.get(&WorkerId(id)).map_or(0, |hand| hand.incarnation.0);
        let incarnation = Incarnation(known + 1);
        self.hands.insert(
            WorkerId(id),
            SqlViewTestWorker { incarnation, ..SqlViewTestWorker::default() },
        );
        self.ask(EngineRequest::Register(RegisterRequest {
            worker: WorkerId(id),
            name: format!("node-{id}").into(),
            incarnation,
            labels: Labels::new(["docker", "os=linux"]),
            slots,
            locality: WorkerLocality::Apart,
            scope: WorkerScope::AllRuns,
            former: FormerIncarnationProof::Unknown,
            spooled: Vec::new(),
        }));
    }

    pub(super) fn submit(&mut self, number: u64, plan: &Arc<Plan>) -> RunId {
        let run = RunId::new(START.as_millis(), number);
        self.ask(EngineRequest::Submit(SubmitRun::new(run, Arc::clone(plan))));
        run
    }

    /// Makes an exchange in which the worker requests as many leases as it has slots.
    pub(super) fn exchange(&mut self, id: u64) {
        let term = self.engine.term();
        let hand = self.worker(id);
        hand.seq = Seq(hand.seq.0 + 1);
        let started =
            |lease: &LeaseRef| InFlightLease { lease: *lease, phase: LeasePhase::Started };
        let exchange = Exchange {
            worker: WorkerId(id),
            drains: false,
            incarnation: hand.incarnation,
            seq: hand.seq,
            seen: hand.seen,
            term,
            finished: hand.finished.clone(),
            in_flight: hand.held.iter().map(started).collect(),
            want: 4,
        };
        self.ask(EngineRequest::Exchange(exchange));
    }

    /// Ends the lease that the worker has held longest. Its next exchange reports the outcome.
    pub(super) fn finish(&mut self, id: u64, outcome: Outcome) {
        let hand = self.worker(id);
        if !hand.held.is_empty() {
            let lease = hand.held.remove(0);
            hand.finished.push(FinishedAttempt { lease, outcome, ran: Some(Span::millis(5)) });
        }
    }

    pub(super) fn worker(&mut self, id: u64) -> &mut SqlViewTestWorker {
        self.hands.get_mut(&WorkerId(id)).expect("it joined")
    }

    pub(super) fn pass(&mut self, span: Span) {
        self.now = self.now + span;
        self.ask(EngineRequest::Tick);
    }

    /// Returns an updater that has written nothing yet.
    pub(super) fn updater(&self, tables: impl SqlViews + 'static) -> SqlViewTestUpdater {
        let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new(|| START));
        SqlViewTestUpdater(SqlViewUpdater::of(Arc::clone(&self.views), &journal, Arc::new(tables)))
    }
}

pub(super) struct SqlViewTestUpdater(SqlViewUpdater);

impl SqlViewTestUpdater {
    /// Looks once.
    pub(super) async fn keep(&mut self) -> Result<(), StoreError> {
        // At shutdown the updater does not pause.
        let (sender, mut shutdown) = ShutdownSender::new();
        sender.shut_down();
        self.0.keep(&mut shutdown).await
    }
}

pub(super) fn tables(folder: &TempDir) -> SqliteSqlViews {
    SqliteSqlViews::open(folder.path()).expect("it works in a test")
}

/// Returns what another process reads in the tables, without the clock time.
pub(super) fn dump(folder: &Path) -> String {
    let connection = read(folder);
    let query = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')
                 AND name NOT IN ('mark', 'windlass_format') ORDER BY type, rowid";
    let mut found = connection.prepare(query).expect("it works in a test");
    let names = found.query_map((), |row| row.get::<_, String>(0)).expect("it works in a test");
    names.map(|name| table(&connection, &name.expect("it works in a test"))).collect()
}

pub(super) fn read(folder: &Path) -> Connection {
    Connection::open_with_flags(folder.join("tables.db"), OpenFlags::SQLITE_OPEN_READ_ONLY)
        .expect("it works in a test")
}

/// Returns a table as text; empty if it has no rows.
fn table(connection: &Connection, name: &str) -> String {
    let what = match name {
        "as_of" => "position, at",
        // The column `event` has the whole event too; tests in core show it.
        "events" => "position, at, type, run, step, worker, fence",
        _ => "*",
    };
    let mut rows =
        connection.prepare(&format!("SELECT {what} FROM {name}")).expect("it works in a test");
    let heads = rows.column_names().collect::<Vec<_>>().join(" ");
    let columns = rows.column_count();
    let line = |row: &rusqlite::Row<'_>| {
        let values = (0..columns).map(|at| text(row.get_ref(at).expect("it works in a test")));
        Ok(values.collect::<Vec<_>>().join(" "))
    };
    let lines = rows.query_map((), line).expect("it works in a test").map(Result::unwrap);
    let mut lines: Vec<String> = lines.map(|line| format!("  {line}\n")).collect();
    if name != "events" {
        lines.sort();
    }
    if lines.is_empty() { String::new() } else { format!("{name}: {heads}\n{}", lines.concat()) }
}

fn text(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "-".to_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
        other => panic!("no table has {other:?}"),
    }
}

/// Returns the lease of a leader whose term ends with its process.
fn endless_lease() -> LeaderLeaseStatus {
    LeaderLeaseStatus::new(LeaderLease::won(None, Time::ZERO, Time::ZERO), ProcessClock::runtime())
        .1
}
