//! A whole node in one process: real stores, real processes.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;
use windlass::core::engine::{EngineAnswer, EngineRequest, Event, SubmitRun, event};
use windlass::core::environment::EnvironmentPolicy;
use windlass::core::expand::ExpandInputs;
use windlass::core::id::RunId;
use windlass::core::outcome::RunStatus;
use windlass::core::plan::Plan;
use windlass::core::problem::{ProblemSeverity, SourceFile};
use windlass::core::requirement::{Labels, WorkerScope};
use windlass::core::time::Span;
use windlass::core::{expand, spec};
use windlass::embedded::{
    EmbeddedNode, LocalWorkerOptions, LocalWorkerPlace, StoreReader, Stores, system_now,
};
use windlass_store::journal::Position;
use windlass_store::logs::LogId;
use windlass_worker::PeerWorkers;
use windlass_worker::executors::{BuiltinExecutor, ExecutorSettings, MaskCache};
use windlass_worker::guard::GuardHandle;

/// A pipeline's plan.
pub(crate) fn plan(text: &str) -> Arc<Plan> {
    let source = SourceFile::new("windlass.yml", text);
    let (pipeline, problems) = spec::read_pipeline(
        &source,
        spec::PipelineReadOptions { unavailable_key_severity: ProblemSeverity::Error },
    );
    let pipeline = pipeline.unwrap_or_else(|| panic!("{problems:?}"));
    let inputs = ExpandInputs { name: "ship", params: &BTreeMap::new(), workspace: None };
    Arc::new(expand::expand_pipeline(&pipeline, inputs).expect("it expands").plan)
}

async fn start(folder: &Path, stores: &Stores) -> EmbeddedNode {
    let guard = GuardHandle::start_from(Path::new(env!("CARGO_BIN_EXE_windlass"))).await;
    let settings = ExecutorSettings {
        root: folder.to_owned(),
        scratch: folder.to_owned(),
        worker: "here".to_owned(),
        environment: vec![("TOKEN".to_owned(), "hunter22".to_owned())],
        policy: EnvironmentPolicy::PassAll,
        objects: windlass_worker::artifacts::ObjectAccess::unavailable("this test keeps no files"),
        masks: MaskCache::default(),
    };
    let logs = Arc::clone(&stores.logs);
    let executor = Arc::new(BuiltinExecutor::new(settings, guard.expect("a guard starts"), logs));
    let labels = Labels::new(["linux"]);
    let worker_options = LocalWorkerOptions {
        place: LocalWorkerPlace::Exclusive,
        name: "here".to_owned(),
        slots: 2,
        labels,
        scope: WorkerScope::AllRuns,
        beside: PeerWorkers::Never,
        executor,
        orphan_guard: None,
    };
    EmbeddedNode::start(stores, worker_options).await.expect("nobody else leads")
}

async fn submit(station: &EmbeddedNode, plan: &Arc<Plan>) -> RunId {
    let run = RunId::new(system_now().as_millis(), 1);
    let answer =
        station.handle().ask(EngineRequest::Submit(SubmitRun::new(run, Arc::clone(plan)))).await;
    assert!(matches!(answer, Ok(EngineAnswer::Submitted { .. })), "{answer:?}");
    run
}

async fn ended(station: &EmbeddedNode, stores: &Stores, run: RunId) -> RunStatus {
    let mut follower = station.handle().views().follow(&stores.journal, Position(0));
    loop {
        for recorded in follower.next().await.expect("the journal reads").iter() {
            if let Event::RunEnded(event::RunEnded { run: of, status }) = &recorded.event
                && *of == run
            {
                return *status;
            }
        }
    }
}

async fn log(stores: &Stores, run: RunId, plan: &Plan, step: &str) -> String {
    let step = plan.find(step).expect("the plan has it");
    let id = LogId::new(run, step, 1, 1);
    let part = stores.logs.read(id, 0..100_000).await.expect("logs read");
    String::from_utf8(part.bytes).expect("it is text")
}

#[tokio::test]
async fn a_pipeline_runs_from_its_text_to_its_logs() {
    let folder = TempDir::new().expect("a folder");
    let stores = Stores::open(folder.path()).expect("stores open");
    let station = start(folder.path(), &stores).await;
    let plan = plan(
        r#"
steps:
  build:
    run: |
      echo "version=1.2" >> "$WINDLASS_OUTPUT"
      echo building
    outputs: [version]
  test:
    needs: build
    matrix: { db: [sqlite, postgres] }
    run: echo "testing ${{ matrix.db }} for ${{ steps.build.outputs.version }}"
  ship:
    needs: test
    secrets: [TOKEN]
    run: echo "with $TOKEN as $WINDLASS_STEP"
  skipped:
    needs: build
    if: steps.build.outputs.version == "2"
    run: "false"
"#,
    );
    let run = submit(&station, &plan).await;
    assert_eq!(ended(&station, &stores, run).await, RunStatus::Succeeded);
    assert_eq!(log(&stores, run, &plan, "build").await, "building\n");
    assert_eq!(log(&stores, run, &plan, "test[postgres]").await, "testing postgres for 1.2\n");
    assert_eq!(log(&stores, run, &plan, "ship").await, "with *** as ship\n");
    station.shut_down().await.expect("it ends in good order");
}

#[tokio::test]
async fn earlier_step_durations_are_looked_up_by_name() {
    let folder = TempDir::new().expect("a folder");
    let stores = Stores::open(folder.path()).expect("stores open");
    let station = start(folder.path(), &stores).await;
    let text = "steps:\n  slow: { run: sleep 0.3 }\n  flaky: { needs: slow, run: test -e ok }\n";
    let plan = plan(text);
    let known = async || {
        let records = StoreReader::read(stores.clone()).await.expect("it reads");
        let known = records.durations("ship").await.expect("it reads");
        known.into_iter().map(|(name, took)| (name.into_string(), took)).collect::<Vec<_>>()
    };
    assert_eq!(known().await, []);
    std::fs::write(folder.path().join("ok"), "").expect("it can be written");
    let first = submit(&station, &plan).await;
    assert_eq!(ended(&station, &stores, first).await, RunStatus::Succeeded);
    let names = |known: &[(String, Span)]| known.iter().map(|it| it.0.clone()).collect::<Vec<_>>();
    let before = known().await;
    assert_eq!(names(&before), ["flaky", "slow"]);
    assert!(before[1].1 >= Span::millis(100) && before[1].1 < Span::secs(30), "{before:?}");
    std::fs::remove_file(folder.path().join("ok")).expect("it is there");
    let second = submit(&station, &plan).await;
    assert_eq!(ended(&station, &stores, second).await, RunStatus::Failed);
    let after = known().await;
    assert_eq!(names(&after), ["flaky", "slow"], "what failed now took what it took before");
    assert_eq!(after[0], before[0]);
    station.shut_down().await.expect("it ends in good order");
}

#[tokio::test]
async fn missing_command_fails_its_step_as_in_a_shell() {
    let folder = TempDir::new().expect("a folder");
    let stores = Stores::open(folder.path()).expect("stores open");
    let station = start(folder.path(), &stores).await;
    let plan = plan("steps:\n  build:\n    run: no-such-program --at-all\n");
    let run = submit(&station, &plan).await;
    assert_eq!(ended(&station, &stores, run).await, RunStatus::Failed);
    let said = log(&stores, run, &plan, "build").await;
    assert!(said.contains("no-such-program"), "{said}");
    station.shut_down().await.expect("it ends in good order");
}

#[tokio::test]
async fn a_large_run_is_sealed_by_the_station_that_ran_it_and_the_next_has_nothing_to_fold() {
    let folder = TempDir::new().expect("a folder");
    let stores = Stores::open(folder.path()).expect("stores open");
    let steps: Vec<String> = (0..1_000).map(|n| format!("  s{n}: {{ call: noop }}\n")).collect();
    let station = start(folder.path(), &stores).await;
    let run = submit(&station, &plan(&format!("steps:\n{}", steps.concat()))).await;
    assert_eq!(ended(&station, &stores, run).await, RunStatus::Succeeded);
    station.shut_down().await.expect("it ends in good order");
    let records = StoreReader::read(stores.clone()).await.expect("it reads");
    assert_eq!(records.open().count(), 0);
    let summary = records.summary(run).await.expect("it reads").expect("it is archived");
    assert_eq!((summary.status(), summary.status_counts().ended()), (RunStatus::Succeeded, 1_000));
    let snapshot = stores.journal.snapshot().await.expect("it reads").expect("it is saved");
    let behind = stores.journal.tail(snapshot.position, usize::MAX).await.expect("it reads");
    assert!(behind.len() < 10, "{behind:?}");
}
