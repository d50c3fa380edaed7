//! Test reports of steps that run on other machines.

use serde_json::{Value, json};

use crate::support::local_cluster::LocalCluster;
use crate::support::project_folder::ProjectFolder;

const STEPS: &str = r#"
steps:
  here: { pin: leader, reports: { junit: here.xml }, run: printf '%s' "$XML" > here.xml }
  there:
    requires: moon
    secrets: [TOKEN]
    retry: { times: 1, wait: 0s }
    ignore_failure: true
    reports: { junit: "there-*.xml" }
    run: printf '%s' "$XML" > there-1.xml; exit 1
"#;

#[test]
fn test_reports_come_from_any_worker() {
    let xml = r#"<testsuite><testcase name="a"/><testcase name="b"><failure>it is hunter22</failure></testcase></testsuite>"#;
    let project = ProjectFolder::with(STEPS).set("TOKEN", "hunter22").set("XML", xml);
    let cluster = LocalCluster::start_in(project, "--jobs 4");
    let join = format!("worker --join {} --name far --label moon --state far", cluster.url);
    let worker = cluster.project.start(&join);
    let run = cluster.submit_project();
    assert_eq!(cluster.status_at_end(&run), "succeeded");
    let report = |step: u32, attempt: u32, message: &str| {
        json!({
            "step": step, "attempt": attempt, "delivery": 1,
            "tests": 2, "failures": 1, "errors": 0, "skipped": 0, "duration_ms": 0,
            "failing": [{ "suite": "", "name": "b", "message": message, "duration_ms": 0 }],
        })
    };
    let get = |path: &str| cluster.answer(&format!("/runs/{run}{path}")).json;
    let masked = "it is ***";
    assert_eq!(get("/tests"), json!([report(0, 1, masked), report(1, 2, masked)]));
    let of_there = json!([report(1, 1, masked), report(1, 2, masked)]);
    assert_eq!(get("/steps/there/tests"), of_there);
    assert_eq!(get("/steps/1/tests"), of_there);
    let refused = cluster.answer(&format!("/runs/{run}/steps/nowhere/tests"));
    assert_eq!(refused.status, 404);
    let shown = cluster.show(&run)["steps"][1]["tests"].clone();
    assert_eq!(shown["failing"][0]["message"], masked, "{shown}");
    let watched = cluster.run("watch latest");
    for text in [cluster.data("show latest"), watched.err] {
        assert!(text.contains("2 tests: 1 passed, 1 failed") && text.contains(masked), "{text}");
    }
    let local: Value =
        serde_json::from_str(&cluster.project.data("show latest --json --store .windlass"))
            .expect("it is JSON");
    assert_eq!(local["steps"][1]["tests"]["tests"], 2);
    worker.signal(rustix::process::Signal::TERM);
    assert_eq!(worker.ended().code, Some(0));
}
