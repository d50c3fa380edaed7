//! The readiness of a controller, and its end.

use rustix::process::Signal;
use serde_json::json;

use crate::support::local_cluster::LocalCluster;
use crate::support::project_folder::ProjectFolder;
use crate::support::waiting::until;

const HOLDS: &str = "\
name: holds
steps:
  s: { run: 'echo >> begun; until test -e go; do sleep 0.02; done' }
";

#[test]
fn stopping_controller_is_not_ready_but_answers_until_its_steps_end() {
    let cluster = LocalCluster::start_in(ProjectFolder::with(HOLDS), "--jobs 2");
    for path in ["/readyz", "/readyz?leader", "/healthz"] {
        assert_eq!(cluster.answer(path).status, 200, "{path}");
    }
    cluster.project.data(&format!("submit --to {}", cluster.url));
    cluster.project.until_lines("begun", 1);
    cluster.controller.signal(Signal::TERM);
    until("it is not ready", || cluster.answer("/readyz").status == 503);
    let why = cluster.answer("/readyz?leader").json;
    assert_eq!((&why["code"], &why["status"]), (&json!("ending"), &json!(503)), "{why}");
    assert_eq!(cluster.answer("/healthz").status, 200, "it is alive");
    assert_eq!(cluster.answer("/runs/latest").json["status"], "running", "it answers");
    let LocalCluster { project, controller, .. } = cluster;
    project.file("go", "");
    assert_eq!(controller.ended().code, Some(0));
    assert_eq!(project.show()["status"], "succeeded", "what ran was finished");
    project.until_nothing_is_left(&[]);
}
