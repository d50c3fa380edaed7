//! The tables of a node that leads, as `psql` shows them.

use std::sync::Arc;

use tokio::task::JoinHandle;
use windlass::core::engine::{CancelLevel, EngineConfig, EngineRequest, SubmitRun};
use windlass::core::id::{Incarnation, RunId, Seq, Term, WorkerId};
use windlass::core::plan::{LockUse, PlanBuilder, StepSpec};
use windlass::core::requirement::{Labels, WorkerScope};
use windlass::core::session::{
    Exchange, FormerIncarnationProof, InFlightLease, LeasePhase, LeaseRef, RegisterRequest,
    WorkerLocality,
};
use windlass::core::time::{Span, Time};
use windlass_controller::{ControllerNode, NodeConfig, NodeHandle, SqlViewUpdater, StandbyPolicy};
use windlass_net::clock::ProcessClock;
use windlass_net::shutdown::ShutdownSender;
use windlass_store::archive::{Archive as _, PostgresArchive, SubmissionKeyClaim};
use windlass_store::conformance::block_on;
use windlass_store::db::StoreError;
use windlass_store::journal::{
    CampaignOutcome, Journal, LeaderCandidate, PostgresJournal, PostgresJournalOptions,
};
use windlass_store::sql_views::{
    PostgresSqlViews, SqlViews as _, SqlViewsDiff, SqlViewsMark, SqlViewsOutcome, WorkerRow,
};

use crate::support::postgres_server::shared;
use crate::support::waiting::until;

/// A schema, as a session of psql sees it.
struct PsqlSession {
    address: String,
    schema: String,
}

impl PsqlSession {
    fn new() -> Self {
        let (address, schema) = shared().fresh();
        Self { address, schema }
    }

    fn ask(&self, query: &str) -> String {
        shared().psql(&format!("SET search_path = {};\n{query}", self.schema))
    }

    fn until(&self, query: &str, promised: &str) {
        until(&format!("`{query}` gives {promised}"), || self.ask(query) == promised);
    }

    async fn journal(&self) -> PostgresJournal {
        let options = PostgresJournalOptions::default();
        PostgresJournal::open(&self.address, options).await.expect("it opens")
    }

    async fn tables(&self) -> PostgresSqlViews {
        PostgresSqlViews::open(&self.address).await.expect("they open")
    }
}

/// A node that leads and keeps tables, until this is dropped.
struct PgTablesNode {
    handle: NodeHandle,
    _end: (ShutdownSender, ShutdownSender),
    _keeper: JoinHandle<Result<(), StoreError>>,
}

impl PgTablesNode {
    async fn start(shell: &PsqlSession, ttl: Span) -> Self {
        let journal: Arc<dyn Journal> = Arc::new(shell.journal().await);
        let config = NodeConfig {
            candidate: LeaderCandidate { node: "ann".to_owned(), address: None },
            engine: EngineConfig::default(),
            ttl,
            own: None,
            stand_by: StandbyPolicy::Wait,
            clock: ProcessClock::runtime(),
            leader_socket: None,
        };
        let opened = ControllerNode::open(Arc::clone(&journal), config).await;
        let (node, handle) = opened.expect("it works in a test");
        let keeper = SqlViewUpdater::new(&handle, &journal, Arc::new(shell.tables().await));
        let (end_node, shutdown) = ShutdownSender::new();
        tokio::spawn(async move { node.run(shutdown).await.expect("it works in a test") });
        let (end_keeper, shutdown) = ShutdownSender::new();
        let keeper = tokio::spawn(keeper.run(shutdown));
        Self { handle, _end: (end_node, end_keeper), _keeper: keeper }
    }
}

/// A worker as the leader sees it: alive as long as it makes exchanges.
struct PgTablesWorker {
    handle: NodeHandle,
    seq: u64,
    term: Term,
    held: Vec<LeaseRef>,
}

impl PgTablesWorker {
    async fn join(led: &PgTablesNode) -> Self {
        let register = RegisterRequest {
            worker: WorkerId(7),
            name: "node\0seven".into(),
            incarnation: Incarnation(1),
            labels: Labels::new(["docker"]),
            slots: 1,
            locality: WorkerLocality::Apart,
            scope: WorkerScope::AllRuns,
            former: FormerIncarnationProof::Unknown,
            spooled: Vec::new(),
        };
        led.handle.ask(EngineRequest::Register(register)).await.expect("it works in a test");
        Self { handle: led.handle.clone(), seq: 0, term: Term(1), held: Vec::new() }
    }

    /// Makes an exchange, which renews a lease that it holds.
    async fn exchange(&mut self) {
        self.seq += 1;
        let started =
            |lease: &LeaseRef| InFlightLease { lease: *lease, phase: LeasePhase::Started };
        let exchange = Exchange {
            worker: WorkerId(7),
            drains: false,
            incarnation: Incarnation(1),
            seq: Seq(self.seq),
            seen: Seq(self.seq - 1),
            term: self.term,
            finished: Vec::new(),
            in_flight: self.held.iter().map(started).collect(),
            want: 1 - u32::try_from(self.held.len()).expect("one slot"),
        };
        let reply = self.handle.exchange(exchange).await.expect("it works in a test");
        self.term = reply.term;
        let body = reply.body.expect("it is known");
        self.held.extend(body.grants.iter().map(|grant| grant.lease));
    }
}

/// A lease is listed while it is renewed, listed as overdue when its worker is silent, and removed then: `expires` is
/// when the leader gave it up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expiry_is_seen_with_psql() {
    let shell = PsqlSession::new();
    let led = PgTablesNode::start(&shell, Span::secs(3)).await;
    let mut hand = PgTablesWorker::join(&led).await;
    let mut plan = PlanBuilder::new("ship");
    let locked = StepSpec { locks: vec![LockUse::fifo("dock")], ..StepSpec::default() };
    plan.step("load", locked.clone());
    plan.step("sail", locked);
    let submit = SubmitRun::new(RunId(5), Arc::new(plan.build().expect("it is one")));
    led.handle.ask(EngineRequest::Submit(submit)).await.expect("it works in a test");
    hand.exchange().await;
    assert_eq!(hand.held.len(), 1, "it has the lease");
    hand.exchange().await;

    let fence = hand.held[0].fence.0;
    let lease = "SELECT run, step, fence, attempt, delivery, acquired < clock_timestamp(),
        expires > acquired, locks FROM windlass_leases";
    shell.until(lease, &format!("5|0|{fence}|1|1|t|t|[\"dock\"]"));
    shell.until("SELECT step, status FROM windlass_steps ORDER BY 1", "0|running\n1|ready");
    shell.until("SELECT lock, step FROM windlass_lock_holders", "dock|load");
    shell.until("SELECT step FROM windlass_running", "load");
    shell.until("SELECT step FROM windlass_waiting", "sail");
    let worker = "SELECT name, status, heard <= clock_timestamp(), labels FROM windlass_workers";
    shell.until(worker, "node\u{fffd}seven|online|t|[\"docker\"]");
    let first = shell.ask("SELECT expires FROM windlass_leases");
    until("its renewals are seen", || {
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(hand.exchange()));
        shell.ask(&format!("SELECT expires > '{first}' FROM windlass_leases")) == "t"
    });

    // The worker is killed, and has no contact any more.
    drop(hand);
    shell.until("SELECT expires <= clock_timestamp() FROM windlass_leases", "t");
    let expired = shell.ask("SELECT expires FROM windlass_leases");
    shell.until("SELECT count(*) FROM windlass_leases", "0");
    shell.until("SELECT status FROM windlass_workers", "lost");
    shell.until("SELECT status FROM windlass_steps WHERE step = 0", "ready");
    let lost = shell.ask("SELECT at FROM windlass_events WHERE type = 'worker_lost'");
    let late = shell.ask(&format!(
        "SELECT '{lost}'::timestamptz - '{expired}'::timestamptz BETWEEN '-1 ms' AND '1 s'"
    ));
    assert_eq!(late, "t", "shown as {expired}, and given up at {lost}");
}

/// Open runs, sealed runs and the run of a client's key: one list each.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_are_shown_with_the_status_of_their_run() {
    let shell = PsqlSession::new();
    let led = PgTablesNode::start(&shell, Span::secs(15)).await;
    let archive = PostgresArchive::open(&shell.address).await.unwrap();
    for (key, run) in [("deploy-7", 5), ("never", 6), ("a\0b", 5)] {
        let at = Time::from_millis(1_790_000_000_000);
        let claim = SubmissionKeyClaim { key: key.to_owned(), body: [7; 32], run: RunId(run), at };
        archive.claim(claim).await.unwrap();
    }
    let mut plan = PlanBuilder::new("ship");
    plan.step("load", StepSpec::default());
    let submit = SubmitRun::new(RunId(5), Arc::new(plan.build().expect("it is one")));
    led.handle.ask(EngineRequest::Submit(submit)).await.expect("it works in a test");
    let keys = "SELECT key, status, run, claimed AT TIME ZONE 'UTC'
                FROM windlass_submissions ORDER BY 1";
    let at = "2026-09-21 14:13:20";
    let promised = format!("a\\000b|running|5|{at}\ndeploy-7|running|5|{at}\nnever|unknown||{at}");
    shell.until(keys, &promised);
    shell.until("SELECT run, pipeline, status, steps FROM windlass_runs", "5|ship|running|1");
    shell.until("SELECT count(*) > 0 FROM windlass_events WHERE event->>'type' = type", "t");
    shell.until("SELECT position > 0, ttl FROM windlass_as_of", "t|00:00:15");
}

/// Idempotent steps, their current workers, and the number of steps that wait for them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn key_rows_name_the_step_that_holds_them() {
    let shell = PsqlSession::new();
    let led = PgTablesNode::start(&shell, Span::secs(15)).await;
    for run in [5, 6] {
        let mut plan = PlanBuilder::new("ship");
        plan.step("deploy", StepSpec::idempotent("./v1"));
        let submit = SubmitRun::new(RunId(run), Arc::new(plan.build().expect("it is one")));
        led.handle.ask(EngineRequest::Submit(submit)).await.expect("it works in a test");
    }
    let keys = "SELECT key, status, run, step, name, waiting FROM windlass_idempotency";
    shell.until(keys, "ship/v1|pending|5|0|deploy|1");
    let cancel = |run| EngineRequest::Cancel { run: RunId(run), level: CancelLevel::Kill };
    led.handle.ask(cancel(5)).await.expect("it works in a test");
    shell.until(keys, "ship/v1|pending|6|0|deploy|0");
    led.handle.ask(cancel(6)).await.expect("it works in a test");
    shell.until(keys, "ship/v1|failed|6|0|deploy|0");
}

/// A difference with one worker, whose name is that of its writer.
fn diff(writer: u64, write: u64, term: u64) -> Arc<SqlViewsDiff> {
    let mark = |write| SqlViewsMark { writer, write };
    let mut diff = SqlViewsDiff::new(write.checked_sub(1).map(mark), mark(write));
    diff.term = Term(term);
    diff.workers.upserted.push(WorkerRow {
        id: WorkerId(writer),
        name: format!("node-{writer}").into(),
        incarnation: Incarnation(1),
        status: windlass::core::engine::WorkerStatus::Online,
        labels: Labels::default(),
        slots: 1,
        leases: 0,
        since: Time::from_millis(1_790_000_000_000),
    });
    Arc::new(diff)
}

/// A deposed leader changes nothing, however late its writes arrive, and whether it continues or starts again.
#[test]
fn a_deposed_leader_writes_nothing() {
    let shell = PsqlSession::new();
    let (journal, tables) = (block_on(shell.journal()), block_on(shell.tables()));
    let take = |node: &str| {
        let candidate = LeaderCandidate { node: node.to_owned(), address: None };
        let won = block_on(journal.campaign(candidate)).unwrap();
        assert!(matches!(won, CampaignOutcome::Won(_)), "{won:?}");
    };
    let write = |diff| block_on(tables.write(diff)).unwrap();
    let shown = || shell.ask("SELECT name FROM windlass_workers");
    take("ann");
    assert_eq!(write(diff(1, 0, 1)), SqlViewsOutcome::Applied);
    assert_eq!(write(diff(1, 0, 1)), SqlViewsOutcome::Applied, "a repeat");
    shell.ask("UPDATE windlass_leader SET until = clock_timestamp()");
    take("bob");
    assert_eq!(write(diff(1, 1, 1)), SqlViewsOutcome::Conflict, "it goes on");
    assert_eq!(shown(), "node-1");
    assert_eq!(write(diff(2, 0, 2)), SqlViewsOutcome::Applied);
    assert_eq!(shown(), "node-2");
    assert_eq!(write(diff(1, 1, 1)), SqlViewsOutcome::Conflict, "it goes on");
    assert_eq!(write(diff(3, 0, 1)), SqlViewsOutcome::Conflict, "it begins anew");
    assert_eq!(shown(), "node-2");
    assert_eq!(write(diff(2, 1, 2)), SqlViewsOutcome::Applied);
}
