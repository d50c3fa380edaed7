//! The leader, and the answers of the controllers that do not lead.

use serde_json::json;

use crate::support::cluster::TestCluster as _;
use crate::support::controller_fleet::ControllerFleet;
use crate::support::waiting::until;

#[test]
fn one_controller_leads_and_the_others_name_it() {
    let fleet = ControllerFleet::start(3);
    let leader = fleet.leader();
    let address = format!("http://127.0.0.1:{}", fleet.members[leader].port);
    for standby in (0..3).filter(|it| *it != leader) {
        until("it knows who leads", || {
            let answer = fleet.try_get(standby, "/runs").expect("it answers");
            answer.header("windlass-leader") == Some(address.as_str())
        });
        let refused = fleet.try_post(standby, "/runs", &json!({})).expect("it answers");
        assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
        assert_eq!(refused.header("content-type"), Some("application/problem+json"));
        let problem = refused.json;
        assert_eq!((&problem["code"], &problem["leader"]), (&json!("not_leader"), &json!(address)));
        let status = |path| fleet.try_get(standby, path).expect("it answers").status;
        assert_eq!(["/healthz", "/readyz", "/openapi.json", "/metrics"].map(status), [200; 4]);
        assert_eq!(status("/readyz?leader"), 503);
        until("it has read who leads", || fleet.cluster(standby)["term"] == 1);
        let cluster = fleet.cluster(standby);
        assert_eq!(cluster["role"], "standby");
        assert_eq!(cluster["leader"]["node"], json!(fleet.members[leader].name));
        assert!(cluster["lag_ms"].as_u64().is_some_and(|lag| lag < 5_000), "{cluster}");
    }
    let cluster = fleet.cluster(leader);
    assert_eq!((&cluster["role"], &cluster["lag_ms"]), (&json!("leader"), &json!(0)));
}

#[test]
fn commands_and_workers_find_the_leader_from_any_address() {
    let fleet = ControllerFleet::start(2);
    let standby = 1 - fleet.leader();
    let port = fleet.members[standby].port;
    fleet.project.file("p.yml", "name: p\nsteps:\n  s: { run: 'true' }\n");
    until("it knows who leads", || {
        let answer = fleet.try_get(standby, "/runs").expect("it answers");
        answer.header("windlass-leader").is_some_and(|it| !it.is_empty())
    });
    let join = format!("worker --join http://127.0.0.1:{port} --name one");
    let _one = fleet.project.start(&join);
    let ended = fleet.project.run(&format!("submit p.yml --wait --to http://127.0.0.1:{port}"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    // The first of several addresses need not belong to a controller.
    let to = format!("--to http://127.0.0.1:1,http://127.0.0.1:{port}");
    let ended = fleet.project.run(&format!("submit p.yml --wait {to}"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(fleet.project.data(&format!("runs {to}")).contains("succeeded"));
}

#[test]
fn controller_that_must_lead_names_the_current_leader() {
    let fleet = ControllerFleet::start(1);
    let ended = fleet.stranger("late", "--role leader").ended();
    assert_eq!(ended.code, Some(5), "{ended:?}");
    let led = format!("c0 already leads, at http://127.0.0.1:{}", fleet.members[0].port);
    assert!(ended.err.contains(&led), "{}", ended.err);
    let again =
        fleet.project.run(&format!("token create boss --scope admin --store {}", fleet.url()));
    assert_eq!(again.code, Some(5), "{again:?}");
    assert!(again.err.contains(&led), "{}", again.err);
}

/// The controller asks once; nothing proves at once that the last leader has died.
#[test]
fn controller_that_must_lead_leads_after_the_leader_is_killed() {
    let mut fleet = ControllerFleet::start(1);
    fleet.kill(0);
    fleet.until_psql("SELECT until < clock_timestamp() FROM windlass_leader", "t");
    let token =
        fleet.project.run(&format!("token create boss --scope admin --store {}", fleet.url()));
    assert_eq!(token.code, Some(0), "{token:?}");
    let late = fleet.stranger("late", "--role leader");
    fleet.until_psql("SELECT node FROM windlass_leader WHERE until > clock_timestamp()", "late");
    drop(late);
}

#[test]
fn first_token_is_created_before_the_first_controller() {
    let mut fleet = ControllerFleet::empty("--no-exec");
    let token =
        fleet.project.data(&format!("token create boss --scope admin --store {}", fleet.url()));
    fleet.project.file("token", token);
    fleet.add();
    fleet.leader();
    let refused = fleet.try_get(0, "/runs").expect("it answers");
    assert_eq!(refused.status, 401, "{refused:?}");
    let to = format!("--to {} --token-file token", fleet.addresses());
    fleet.project.data(&format!("runs {to}"));
}

#[test]
fn controllers_that_share_a_state_folder_are_refused() {
    let fleet = ControllerFleet::start_with(1, "--jobs 1");
    let ended = fleet.stranger("c0", "").ended();
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert!(ended.err.contains("--state FOLDER"), "{}", ended.err);
}

/// As a new cluster starts: all controllers at once, on an empty database.
#[test]
fn twenty_controllers_that_start_at_once_on_an_empty_database_have_one_leader() {
    let mut fleet = ControllerFleet::empty("--jobs 0");
    for _ in 0..20 {
        fleet.add();
    }
    let leader = fleet.leader();
    let id = fleet.get("/cluster")["id"].clone();
    for member in 0..20 {
        until("it is there", || fleet.role(member).is_some());
        until("it has read who leads", || fleet.cluster(member)["term"] == 1);
        let cluster = fleet.cluster(member);
        let role = if member == leader { "leader" } else { "standby" };
        assert_eq!((&cluster["id"], &cluster["role"]), (&id, &json!(role)), "{cluster}");
    }
}
