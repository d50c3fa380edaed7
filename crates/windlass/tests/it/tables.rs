//! The tables of a node that leads, as another process reads them.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use windlass::core::engine::{EngineConfig, EngineRequest, SubmitRun};
use windlass::core::id::{Incarnation, RunId, WorkerId};
use windlass::core::plan::{PlanBuilder, StepSpec};
use windlass::core::requirement::{Labels, WorkerScope};
use windlass::core::session::{FormerIncarnationProof, RegisterRequest, WorkerLocality};
use windlass::core::time::{Span, Time};
use windlass_controller::{ControllerNode, NodeConfig, NodeHandle, SqlViewUpdater, StandbyPolicy};
use windlass_net::clock::ProcessClock;
use windlass_net::shutdown::ShutdownSender;
use windlass_store::db::StoreError;
use windlass_store::journal::{Journal, LeaderCandidate, SqliteJournal};
use windlass_store::sql_views::SqliteSqlViews;

const FOLDER: &str = "WINDLASS_TEST_TABLES";
const START: Time = Time::from_millis(1_790_000_000_000);
/// Longer than any wait in these tests.
const PATIENCE: usize = 600;

/// A node that leads and keeps tables.
struct TablesNode {
    handle: NodeHandle,
    node: (ShutdownSender, JoinHandle<()>),
    keeper: (ShutdownSender, JoinHandle<Result<(), StoreError>>),
}

impl TablesNode {
    async fn start(folder: &Path) -> Self {
        let journal: Arc<dyn Journal> =
            Arc::new(SqliteJournal::open(folder, || START).expect("it works in a test"));
        let config = NodeConfig {
            candidate: LeaderCandidate { node: "ann".to_owned(), address: None },
            engine: EngineConfig::default(),
            ttl: Span::secs(15),
            own: None,
            stand_by: StandbyPolicy::Wait,
            clock: ProcessClock::runtime(),
            leader_socket: None,
        };
        let (node, handle) =
            ControllerNode::open(Arc::clone(&journal), config).await.expect("it works in a test");
        let tables = Arc::new(SqliteSqlViews::open(folder).expect("it works in a test"));
        let keeper = SqlViewUpdater::new(&handle, &journal, tables);
        let (end_node, shutdown) = ShutdownSender::new();
        let node =
            tokio::spawn(async move { node.run(shutdown).await.expect("it works in a test") });
        let (end_keeper, shutdown) = ShutdownSender::new();
        let keeper = tokio::spawn(keeper.run(shutdown));
        Self { handle, node: (end_node, node), keeper: (end_keeper, keeper) }
    }

    async fn join(&self, id: u64) {
        let register = RegisterRequest {
            worker: WorkerId(id),
            name: format!("node-{id}").into(),
            incarnation: Incarnation(1),
            labels: Labels::default(),
            slots: 1,
            locality: WorkerLocality::Apart,
            scope: WorkerScope::AllRuns,
            former: FormerIncarnationProof::Unknown,
            spooled: Vec::new(),
        };
        self.handle.ask(EngineRequest::Register(register)).await.expect("it works in a test");
    }

    async fn submit(&self, number: u64, steps: u32) {
        let mut plan = PlanBuilder::new("ship");
        for step in 0..steps {
            plan.step(&format!("step-{step}"), StepSpec::default());
        }
        let submit =
            SubmitRun::new(RunId(number), Arc::new(plan.build().expect("it works in a test")));
        self.handle.ask(EngineRequest::Submit(submit)).await.expect("it works in a test");
    }

    /// Ends the node, and the writer of the tables after it.
    async fn end(self) -> Result<(), StoreError> {
        self.node.0.shut_down();
        self.node.1.await.expect("it works in a test");
        self.keeper.0.shut_down();
        self.keeper.1.await.expect("it works in a test")
    }
}

/// Returns the single number of a query; `None` if the query fails.
fn number(folder: &Path, query: &str) -> rusqlite::Result<i64> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let tables = Connection::open_with_flags(folder.join("tables.db"), flags)?;
    tables.busy_timeout(Duration::from_secs(5))?;
    tables.query_row(query, (), |row| row.get(0))
}

/// Waits until the query returns the number.
async fn until(folder: &Path, query: &str, expected: i64) {
    for _ in 0..PATIENCE {
        if number(folder, query) == Ok(expected) {
            return;
        }
        sleep(Duration::from_millis(50)).await;
    }
    panic!("`{query}` gives {:?}, not {expected}", number(folder, query));
}

#[tokio::test]
async fn a_leader_keeps_its_tables_and_the_last_write_shows_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let led = TablesNode::start(folder.path()).await;
    led.join(1).await;
    until(folder.path(), "SELECT count(*) FROM workers", 1).await;
    led.submit(1, 3).await;
    let position = led.handle.views().with(|view| view.position.0.cast_signed());
    led.end().await.unwrap();
    assert_eq!(number(folder.path(), "SELECT position FROM as_of"), Ok(position));
    assert_eq!(number(folder.path(), "SELECT count(*) FROM waiting"), Ok(3));
}

#[tokio::test]
async fn tables_that_are_deleted_come_back_and_a_new_leader_makes_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let led = TablesNode::start(folder.path()).await;
    led.submit(1, 3).await;
    until(folder.path(), "SELECT count(*) FROM steps", 3).await;
    fs::remove_file(folder.path().join("tables.db")).unwrap();
    led.submit(2, 4).await;
    until(folder.path(), "SELECT count(*) FROM steps", 7).await;
    led.end().await.unwrap();
    fs::remove_file(folder.path().join("tables.db")).unwrap();
    let led = TablesNode::start(folder.path()).await;
    until(folder.path(), "SELECT term FROM leader", 2).await;
    until(folder.path(), "SELECT count(*) FROM steps", 7).await;
    // The events come from the journal: this node was not running when they happened.
    until(folder.path(), "SELECT count(*) FROM events WHERE type = 'run_submitted'", 2).await;
    led.end().await.unwrap();
}

#[tokio::test]
async fn another_process_reads_while_the_leader_writes() {
    let folder = tempfile::tempdir().unwrap();
    let led = TablesNode::start(folder.path()).await;
    led.submit(1, 1).await;
    until(folder.path(), "SELECT count(*) FROM steps", 1).await;
    let mut reader = start_reader(folder.path());
    for run in 2..=200 {
        led.submit(run, 50).await;
        sleep(Duration::from_millis(10)).await;
    }
    led.end().await.unwrap();
    fs::write(folder.path().join("done"), "").unwrap();
    assert!(reader.wait().unwrap().success(), "it found every snapshot whole");
}

fn start_reader(folder: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("it works in a test"));
    command.args(["--exact", "tables::reader", "--nocapture"]).env(FOLDER, folder);
    command.stdout(Stdio::null()).spawn().expect("it works in a test")
}

/// The child process of the test above; nothing by itself. Counts until the leader is done: the steps of a run appear
/// together with its row, and their number never shrinks.
#[test]
#[expect(clippy::disallowed_methods, reason = "the test that starts this process set it")]
fn reader() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let folder = Path::new(&folder);
    let mut before = 0;
    loop {
        let done = folder.join("done").exists();
        let torn = "SELECT count(*) FROM runs
                    WHERE steps != (SELECT count(*) FROM steps WHERE steps.run = runs.run)";
        assert_eq!(number(folder, torn), Ok(0));
        let steps = number(folder, "SELECT count(*) FROM steps").unwrap();
        assert!(steps >= before);
        before = steps;
        if done {
            assert_eq!(before, 1 + 199 * 50);
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
