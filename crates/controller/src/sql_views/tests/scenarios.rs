//! A small scenario, and all tables after it.

use std::sync::Arc;

use tempfile::TempDir;
use windlass_core::engine::EngineRequest;
use windlass_core::outcome::Outcome;
use windlass_core::plan::{Plan, PlanBuilder, StepSpec};

use super::test_leader::{SqlViewTestLeader, dump, tables};

fn ship() -> Arc<Plan> {
    let mut plan = PlanBuilder::new("ship");
    plan.step("lint", StepSpec::default());
    plan.matrix("test", ["linux", "mac"].map(|os| (os.to_owned(), StepSpec::default())));
    let deploy = plan.step("deploy", StepSpec::locking(["prod"]));
    let tell = plan.step("tell", StepSpec::default());
    plan.needs(tell, deploy);
    Arc::new(plan.build().expect("it works in a test"))
}

fn broken() -> Arc<Plan> {
    let mut plan = PlanBuilder::new("broken");
    let build = plan.step("build", StepSpec::default());
    let test = plan.step("test", StepSpec::default());
    plan.needs(test, build);
    Arc::new(plan.build().expect("it works in a test"))
}

/// One running step holds a lock, one step waits for it, and another run has failed.
async fn busy_cluster() -> TempDir {
    let folder = tempfile::tempdir().expect("it works in a test");
    let mut leader = SqlViewTestLeader::new();
    let mut updater = leader.updater(tables(&folder));
    leader.join(1, 2);
    leader.join(2, 1);
    leader.submit(1, &ship());
    leader.exchange(1);
    updater.keep().await.expect("it works in a test");
    // The worker ends another step first and keeps `deploy`, which it got first.
    leader.worker(1).held.swap(0, 1);
    leader.finish(1, Outcome::exit(0));
    leader.exchange(1);
    leader.submit(2, &broken());
    leader.exchange(2);
    leader.finish(2, Outcome::exit(1));
    leader.exchange(2);
    updater.keep().await.expect("it works in a test");
    folder
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "the whole of the tables")]
async fn tables_show_current_state_in_readable_text() {
    let folder = busy_cluster().await;
    insta::assert_snapshot!(dump(folder.path()), @r#"
    as_of: position at
      17 2026-09-21T14:13:20.027Z
    leader: term since ttl_ms own
      1 2026-09-21T14:13:20.003Z 15000 1
    workers: worker name status since slots leases labels incarnation
      1 node-1 online 2026-09-21T14:13:20.006Z 2 3 ["docker","os=linux"] 1
      2 node-2 online 2026-09-21T14:13:20.009Z 1 0 ["docker","os=linux"] 1
    leases: fence run step attempt delivery worker granted_at started_at stop stop_reason locks
      1 6gc8m3c000001 4 1 1 1 2026-09-21T14:13:20.015Z 2026-09-21T14:13:20.018Z - - ["prod"]
      3 6gc8m3c000001 1 1 1 1 2026-09-21T14:13:20.015Z 2026-09-21T14:13:20.018Z - - []
      4 6gc8m3c000001 2 1 1 1 2026-09-21T14:13:20.015Z 2026-09-21T14:13:20.018Z - - []
    runs: run pipeline status submitted_at steps waiting ready leased running succeeded failed timed_out cancelled skipped blocked cached number
      6gc8m3c000001 ship running 2026-09-21T14:13:20.012Z 5 1 0 0 3 1 0 0 0 0 0 0 -1715567876854775807
      6gc8m3c000002 broken failed 2026-09-21T14:13:20.021Z 2 0 0 0 0 0 1 0 0 0 1 0 -1715567876854775806
    steps: run step name status attempt delivery fence cause
      6gc8m3c000001 0 lint succeeded 1 1 2 -
      6gc8m3c000001 1 test[linux] running 1 1 3 -
      6gc8m3c000001 2 test[mac] running 1 1 4 -
      6gc8m3c000001 4 deploy running 1 1 1 -
      6gc8m3c000001 5 tell waiting 1 0 - -
      6gc8m3c000002 0 build failed 1 1 5 -
      6gc8m3c000002 1 test blocked 1 0 - 0
    events: position at type run step worker fence
      1 2026-09-21T14:13:20.003Z led - - - -
      2 2026-09-21T14:13:20.006Z worker_registered - - 1 -
      3 2026-09-21T14:13:20.009Z worker_registered - - 2 -
      4 2026-09-21T14:13:20.012Z run_submitted 6gc8m3c000001 - - -
      5 2026-09-21T14:13:20.015Z granted 6gc8m3c000001 4 1 1
      6 2026-09-21T14:13:20.015Z granted 6gc8m3c000001 0 1 2
      7 2026-09-21T14:13:20.015Z granted 6gc8m3c000001 1 1 3
      8 2026-09-21T14:13:20.015Z granted 6gc8m3c000001 2 1 4
      9 2026-09-21T14:13:20.018Z ended 6gc8m3c000001 0 - 2
      10 2026-09-21T14:13:20.018Z started 6gc8m3c000001 4 - 1
      11 2026-09-21T14:13:20.018Z started 6gc8m3c000001 1 - 3
      12 2026-09-21T14:13:20.018Z started 6gc8m3c000001 2 - 4
      13 2026-09-21T14:13:20.021Z run_submitted 6gc8m3c000002 - - -
      14 2026-09-21T14:13:20.024Z granted 6gc8m3c000002 0 2 5
      15 2026-09-21T14:13:20.027Z ended 6gc8m3c000002 0 - 5
      16 2026-09-21T14:13:20.027Z step_settled 6gc8m3c000002 1 - -
      17 2026-09-21T14:13:20.027Z run_ended 6gc8m3c000002 - - -
    running: run pipeline step worker started_at attempt delivery stop fence
      6gc8m3c000001 ship deploy node-1 2026-09-21T14:13:20.018Z 1 1 - 1
      6gc8m3c000001 ship test[linux] node-1 2026-09-21T14:13:20.018Z 1 1 - 3
      6gc8m3c000001 ship test[mac] node-1 2026-09-21T14:13:20.018Z 1 1 - 4
    waiting: run pipeline step status attempt
      6gc8m3c000001 ship tell waiting 1
    failures: run pipeline step status attempt cause
      6gc8m3c000002 broken build failed 1 -
      6gc8m3c000002 broken test blocked 1 build
    lock_holders: lock run step worker granted_at fence
      prod 6gc8m3c000001 deploy node-1 2026-09-21T14:13:20.015Z 1
    "#);
}

#[tokio::test]
async fn a_sealed_run_leaves_the_tables_and_its_events_stay() {
    let folder = tempfile::tempdir().unwrap();
    let mut leader = SqlViewTestLeader::new();
    let mut updater = leader.updater(tables(&folder));
    leader.join(1, 2);
    let mut plan = PlanBuilder::new("one");
    plan.step("only", StepSpec::default());
    let run = leader.submit(1, &Arc::new(plan.build().unwrap()));
    updater.keep().await.unwrap();
    leader.exchange(1);
    leader.finish(1, Outcome::exit(0));
    leader.exchange(1);
    leader.ask(EngineRequest::Seal { run });
    updater.keep().await.unwrap();
    insta::assert_snapshot!(dump(folder.path()), @r#"
    as_of: position at
      7 2026-09-21T14:13:20.018Z
    leader: term since ttl_ms own
      1 2026-09-21T14:13:20.003Z 15000 1
    workers: worker name status since slots leases labels incarnation
      1 node-1 online 2026-09-21T14:13:20.006Z 2 0 ["docker","os=linux"] 1
    events: position at type run step worker fence
      1 2026-09-21T14:13:20.003Z led - - - -
      2 2026-09-21T14:13:20.006Z worker_registered - - 1 -
      3 2026-09-21T14:13:20.009Z run_submitted 6gc8m3c000001 - - -
      4 2026-09-21T14:13:20.012Z granted 6gc8m3c000001 0 1 1
      5 2026-09-21T14:13:20.015Z ended 6gc8m3c000001 0 - 1
      6 2026-09-21T14:13:20.015Z run_ended 6gc8m3c000001 - - -
      7 2026-09-21T14:13:20.018Z run_sealed 6gc8m3c000001 - - -
    "#);
}

#[tokio::test]
async fn key_rows_name_the_running_and_the_completed_step() {
    let folder = tempfile::tempdir().unwrap();
    let mut leader = SqlViewTestLeader::new();
    let mut updater = leader.updater(tables(&folder));
    let keys = |path: &std::path::Path| -> Vec<String> {
        let dump = dump(path);
        let table = dump.split("idempotency:").nth(1).unwrap_or_default().lines().skip(1);
        table.take_while(|line| line.starts_with(' ')).map(|line| line.trim().to_owned()).collect()
    };
    let plan = |name: &str| {
        let mut plan = PlanBuilder::new("once");
        plan.step(name, StepSpec::idempotent("./k"));
        Arc::new(plan.build().unwrap())
    };
    leader.join(1, 2);
    let first = leader.submit(1, &plan("one"));
    leader.submit(2, &plan("two"));
    leader.exchange(1);
    updater.keep().await.unwrap();
    let at = "2026-09-21T14:13:20.009Z";
    assert_eq!(keys(folder.path()), [format!("once/k pending {first} 0 one {at} 1")]);
    leader.finish(1, Outcome::exit(0));
    leader.exchange(1);
    leader.ask(EngineRequest::Seal { run: first });
    updater.keep().await.unwrap();
    let at = "2026-09-21T14:13:20.018Z";
    assert_eq!(keys(folder.path()), [format!("once/k completed {first} 0 one {at} 0")]);
    leader.pass(windlass_core::idempotency::KEY_AGE);
    leader.join(1, 2);
    leader.submit(3, &plan("three"));
    leader.exchange(1);
    leader.finish(1, Outcome::exit(1));
    leader.exchange(1);
    updater.keep().await.unwrap();
    assert!(keys(folder.path())[0].starts_with("once/k failed"), "{:?}", keys(folder.path()));
}
