//! Whether it is ready, and how it ends.

use rustix::process::Signal;
use serde_json::json;

use super::arrange::ServeController;
use crate::run::arrange::{RunFolder, until};

const HOLDS: &str = "\
name: holds
steps:
  s: { run: 'echo >> begun; until test -e go; do sleep 0.02; done' }
";

#[test]
fn stopping_controller_is_not_ready_but_answers_until_its_steps_end() {
    let controller = ServeController::start(RunFolder::with(HOLDS), "");
    for path in ["/readyz", "/readyz?leader", "/healthz"] {
        assert_eq!(controller.get(path).0, 200, "{path}");
    }
    controller.place.data(&format!("submit --to {}", controller.url));
    controller.place.until_lines("begun", 1);
    controller.process.signal(Signal::TERM);
    until("it is not ready", || controller.get("/readyz").0 == 503);
    let (_, why) = controller.get("/readyz?leader");
    assert_eq!((&why["code"], &why["status"]), (&json!("ending"), &json!(503)), "{why}");
    assert_eq!(controller.get("/healthz").0, 200, "it is alive");
    assert_eq!(controller.get("/runs/latest").1["status"], "running", "it answers");
    let ServeController { place, process, .. } = controller;
    place.file("go", "");
    assert_eq!(process.ended().code, Some(0));
    assert_eq!(place.show()["status"], "succeeded", "what ran was finished");
    place.until_nothing_is_left(&[]);
}
