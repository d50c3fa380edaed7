//! Reports: the state as tables, the API and the command line show it.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use windlass_core::engine::{CancelLevel, Engine, EngineAnswer, EngineRequest, Event, event};
use windlass_core::id::{Fence, RunId, StepIx};
use windlass_core::outcome::{Outcome, OutcomeKind, StepOutput, StepStatus};
use windlass_core::plan::StepSpec;
use windlass_core::report::StepReport;
use windlass_core::time::{Span, Time};

use crate::test_cluster::TestCluster;

/// Returns all reports, one item per line.
fn reports(engine: &Engine) -> String {
    let mut lines = vec![format!("{:?}", engine.leader().expect("a node leads"))];
    lines.extend(engine.workers().map(|worker| format!("{worker:?}")));
    lines.extend(engine.leases().map(|lease| format!("{lease:?}")));
    lines.extend(engine.locks().map(|lock| format!("{lock:?}")));
    for run in engine.runs() {
        let counts = run.counts();
        let counts: Vec<_> = counts.iter().filter(|(_, count)| *count > 0).collect();
        lines.push(format!("{} {} {} {counts:?}", run.id, run.pipeline(), run.status));
        lines.extend(run.steps(StepIx(0)).map(|step| step_line(&step)));
    }
    lines.join("\n")
}

fn step_line(report: &StepReport<'_>) -> String {
    let StepReport { step, status, attempt, delivery, fence, cause, name, is_join } = report;
    let join = if *is_join { " (join)" } else { "" };
    let tried = (attempt, delivery);
    format!("  {step} {name}{join} {status} {tried:?} {fence:?} {cause:?}")
}

#[test]
fn reports_show_which_worker_runs_which_step() {
    let mut cluster = TestCluster::new().worker("alpha", 2, ["linux"]);
    cluster.submit("ship", |plan| {
        plan.plain("lint", []);
        plan.step("deploy", StepSpec::locking(["prod"]), []);
        plan.matrix("test", ["a", "b"], |_| StepSpec::default());
        plan.plain("tell", ["lint"]);
    });
    cluster.pass(Span::secs(1));
    cluster.finish("alpha", "lint", Outcome::exit(1));
    insta::assert_snapshot!(reports(&cluster.engine), @r#"
    LeaderReport { term: t1, since: Time(1200.000), ttl: 15s, own: Some(w100) }
    WorkerReport { id: w1, name: "alpha", incarnation: i1, status: Online, labels: Labels(["linux"]), slots: 2, leases: 2, since: Time(1200.000), locality: Apart }
    LeaseReport { fence: f2, run: run 1, step: #2, name: "test[a]", attempt: 1, delivery: 1, worker: w1, granted_at: Time(1200.000), started_at: Some(Time(1200.000)), stop: Some(StopReport { how: Term, why: FailFast }), locks: [] }
    LeaseReport { fence: f3, run: run 1, step: #3, name: "test[b]", attempt: 1, delivery: 1, worker: w1, granted_at: Time(1200.000), started_at: Some(Time(1201.000)), stop: Some(StopReport { how: Term, why: FailFast }), locks: [] }
    LockReport { name: "prod", slots: 1, holders: [], waiting: 0, embargo: None }
    1 ship running [(Running, 2), (Failed, 1), (Cancelled, 1), (Blocked, 1)]
      #0 lint failed (1, 1) Some(f1) None
      #1 deploy cancelled (1, 0) None Some(#0)
      #2 test[a] running (1, 1) Some(f2) None
      #3 test[b] running (1, 1) Some(f3) None
      #4 test (join) waiting (1, 0) None None
      #5 tell blocked (1, 0) None Some(#0)
    "#);
}

#[test]
fn a_replica_reports_the_same() {
    let mut cluster = TestCluster::new().worker("alpha", 2, []);
    cluster.submit("ship", |plan| plan.plains(["a", "b", "c"]));
    cluster.succeed(["a"]);
    let before = reports(&cluster.engine);
    // The new leader has folded only the journal; its first event is its own.
    cluster.take_over();
    let without_leader = |text: &str| text.split_once('\n').unwrap().1.to_owned();
    assert_eq!(without_leader(&reports(&cluster.engine)), without_leader(&before));
}

#[test]
fn steps_are_read_in_pages_and_counted_by_status() {
    let mut cluster = TestCluster::new();
    cluster.submit("ship", |plan| plan.chain("step", 5));
    let run = cluster.engine.run(cluster.run_id("ship")).unwrap();
    let names: Vec<_> = run.steps(StepIx(3)).map(|step| step.name).collect();
    assert_eq!(names, ["step3", "step4"]);
    assert_eq!(run.steps(StepIx(9)).count(), 0, "behind the last there is none");
    assert_eq!(run.counts().of(StepStatus::Waiting), 4);
    assert_eq!(run.counts().of(StepStatus::Ready), 1);
    assert!(cluster.engine.run(RunId(99)).is_none());
}

#[test]
fn lock_report_names_the_holders_and_counts_the_waiters() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []).worker("beta", 1, []);
    cluster.submit("ship", |plan| {
        plan.lock_slots("farm", 2);
        plan.matrix("soak", ["1", "2", "3", "4"], |_| StepSpec::locking(["farm"]));
    });
    cluster.pass(Span::secs(1));
    cluster.submit("next", |plan| {
        plan.lock_slots("farm", 2);
        plan.step("deploy", StepSpec::locking(["farm"]), []);
    });
    insta::assert_snapshot!(json(&cluster.engine.locks().collect::<Vec<_>>()), @r#"
    [{"name":"farm","slots":2,"holders":[{"run":1,"step":0,"name":"soak[1]","worker":"alpha","fence":1,"since":1200000},{"run":1,"step":1,"name":"soak[2]","worker":"beta","fence":2,"since":1200000}],"waiting":3,"embargo":null}]
    "#);
}

/// A value that is read back equals the value that was written.
fn json<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) -> String {
    let text = serde_json::to_string(value).expect("a report has a JSON form");
    let read: T = serde_json::from_str(&text).expect("and is read back");
    assert_eq!(read, *value);
    text
}

#[test]
fn queue_report_lists_waiting_steps_and_capable_workers_per_class() {
    let mut cluster =
        TestCluster::new().worker("alpha", 1, ["linux", "gpu"]).worker("beta", 2, ["linux"]);
    cluster.submit("ship", |plan| {
        plan.matrix("train", ["1", "2"], |_| never_ahead("gpu"));
        plan.step("sign", StepSpec::requiring(["windows"]), []);
    });
    cluster.pass(Span::secs(3));
    cluster.submit("next", |plan| {
        plan.step("migrate", StepSpec::locking(["db"]), []);
        plan.step("deploy", StepSpec::locking(["db"]), []);
        plan.plain("lint", ["migrate"]);
    });
    let lines = cluster.engine.queue().iter().map(json).collect::<Vec<_>>();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    {"requires":"gpu","prefers":[],"ready":1,"locked":0,"oldest":1200000,"workers":1,"free":0}
    {"requires":"windows","prefers":[],"ready":1,"locked":0,"oldest":1200000,"workers":0,"free":0}
    {"requires":"any worker","prefers":[],"ready":1,"locked":1,"oldest":1203000,"workers":2,"free":1}
    "#);
    cluster.succeed(["train[1]", "train[2]", "migrate", "deploy", "lint"]);
    let waits: Vec<_> = cluster.engine.queue().into_iter().map(|class| class.requires).collect();
    assert_eq!(waits, ["windows"]);
}

/// A step for workers with this label; such a step is not leased ahead of a free slot.
fn never_ahead(label: &str) -> StepSpec {
    StepSpec { per_worker: Some(1), ..StepSpec::requiring([label]) }
}

#[test]
fn reports_and_reasons_survive_json() {
    let mut cluster = TestCluster::new().worker("alpha", 1, ["linux"]);
    cluster.submit("ship", |plan| {
        plan.step("migrate", StepSpec::locking(["db"]), []);
        plan.step("deploy", StepSpec::locking(["db"]), []);
        plan.step("train", StepSpec::requiring(["gpu"]), []);
        plan.plain("tell", ["deploy"]);
    });
    let run = cluster.engine.run(cluster.run_id("ship")).unwrap();
    let mut lines = vec![json(&cluster.engine.leader()), json(&run.counts())];
    lines.extend(cluster.engine.workers().map(|it| json(&it)));
    lines.extend(cluster.engine.leases().map(|it| json(&it)));
    lines.extend(run.steps(StepIx(0)).map(|it| json(&it)));
    lines.extend(["migrate", "deploy", "train", "tell"].map(|step| json(&cluster.why(step))));
    lines.push(serde_json::to_string(&run).unwrap());
    insta::assert_snapshot!(lines.join("\n"), @r#"
    {"term":1,"since":1200000,"ttl":15000,"own":100}
    {"waiting":1,"ready":2,"running":1}
    {"id":1,"name":"alpha","incarnation":1,"status":"online","labels":["linux"],"slots":1,"leases":1,"since":1200000,"home":"Apart"}
    {"fence":1,"run":1,"step":1,"name":"deploy","attempt":1,"delivery":1,"worker":1,"granted_at":1200000,"started_at":1200000,"stop":null,"locks":["db"]}
    {"step":0,"status":"ready","attempt":1,"delivery":0,"fence":null,"cause":null,"name":"migrate","is_join":false}
    {"step":1,"status":"running","attempt":1,"delivery":1,"fence":1,"cause":null,"name":"deploy","is_join":false}
    {"step":2,"status":"ready","attempt":1,"delivery":0,"fence":null,"cause":null,"name":"train","is_join":false}
    {"step":3,"status":"waiting","attempt":1,"delivery":0,"fence":null,"cause":null,"name":"tell","is_join":false}
    {"locks":{"waiting":[{"lock":"db","slots":1,"holders":[{"run":1,"step":1,"name":"deploy","worker":"alpha","fence":1,"since":1200000}],"reserved":false}]}}
    {"held":{"worker":1,"fence":1,"started_at":1200000,"stop":null}}
    {"no_worker":{"placement":"gpu","fails_at":1500000,"workers":[{"worker":"alpha","reason":"lacks gpu"}]}}
    {"needs":{"waiting":[[1,"running"]]}}
    {"id":1,"pipeline":"ship","status":"running","submitted_at":1200000,"counts":{"waiting":1,"ready":2,"running":1}}
    "#);
}

#[test]
fn lock_taken_by_an_operator_is_not_reported_as_held() {
    let mut cluster = TestCluster::new().worker("alpha", 2, []);
    cluster.submit("ship", |plan| plan.step("a", StepSpec::locking(["db"]), []));
    let fence = cluster.fence("a");
    assert_eq!(cluster.engine.leases().next().unwrap().locks, ["db"]);
    let forced = cluster.ask(EngineRequest::ForceRelease { lock: "db".into(), fence });
    assert_eq!(forced, EngineAnswer::Done);
    assert_eq!(cluster.engine.leases().next().unwrap().locks, [""; 0]);
}

#[test]
fn stop_reason_is_reported_as_text() {
    let mut cluster = TestCluster::new().worker("alpha", 2, []);
    cluster.submit("ship", |plan| plan.plains(["a"]));
    let run = cluster.run_id("ship");
    cluster.ask(EngineRequest::Cancel { run, level: CancelLevel::Kill });
    let stop = cluster.engine.leases().next().unwrap().stop.unwrap();
    assert_eq!((stop.how.word(), stop.why.word()), ("kill", "run_cancelled"));
}

#[test]
fn events_in_json_omit_plan_and_output() {
    let mut cluster = TestCluster::new().worker("alpha", 1, ["linux"]);
    cluster.submit("ship", |plan| plan.plains(["a"]));
    let output = StepOutput::inline("{\"password\":\"hunter2\"}");
    cluster.finish("alpha", "a", Outcome { output, ..Outcome::exit(0) });
    let at = Time::from_millis(1_790_000_000_123);
    let lines =
        cluster.journal.iter().zip(1..).map(|(event, pos)| event.to_json(pos, at).to_string());
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r#"
    {"at":"2026-09-21T14:13:20.123Z","data":{"embargo":null,"generation":0,"own":"100","term":1,"ttl_ms":15000},"pos":1,"type":"led","v":1}
    {"at":"2026-09-21T14:13:20.123Z","data":{"home":"apart","incarnation":1,"labels":["linux"],"name":"alpha","scope":"all_runs","slots":1},"pos":2,"type":"worker_registered","v":1,"worker":"1"}
    {"at":"2026-09-21T14:13:20.123Z","data":{"fingerprint":"8e6a60b5fceb48b5e1f4dd2f7d3f0eb59edfb2e8c261b8c866c3b443ce50a75d","keep_going":false,"owner":null,"parent":null,"pipeline":"ship","reused":0,"root":null,"steps":1,"timeout_ms":null,"unplaceable":"wait"},"pos":3,"run":"1","type":"run_submitted","v":1}
    {"at":"2026-09-21T14:13:20.123Z","attempt":1,"data":{"expires_at":"1970-01-01T00:20:15.000Z","seq":1},"delivery":1,"fence":1,"pos":4,"run":"1","step":0,"type":"granted","v":1,"worker":"1"}
    {"at":"2026-09-21T14:13:20.123Z","data":{},"fence":1,"pos":5,"run":"1","step":0,"type":"started","v":1}
    {"at":"2026-09-21T14:13:20.123Z","data":{"exit_code":0,"next":{"done":"succeeded"},"outcome":"succeeded","output":{"bytes":22},"ran_ms":0,"reported":true},"fence":1,"pos":6,"run":"1","step":0,"type":"lease_ended","v":1}
    {"at":"2026-09-21T14:13:20.123Z","data":{"status":"succeeded"},"pos":7,"run":"1","type":"run_ended","v":1}
    "#);
}

#[test]
fn event_is_about_the_run_that_it_names() {
    let (run, step, fence) = (RunId(1), StepIx(2), Fence(3));
    let outcome = Outcome::plain(OutcomeKind::Lost);
    let late = Event::LateOutcome(event::LateOutcome { run, step, fence, outcome });
    assert_eq!(late.references(), (Some(step), None, Some(fence)));
    assert_eq!(Event::RunSealed(event::RunSealed { run }).references(), (None, None, None));
}
