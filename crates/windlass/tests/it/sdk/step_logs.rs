//! Events of `tracing`: those of steps in the logs of the steps, all others in the log of the process.

use serde_json::{Value, json};

use crate::support::project_folder::ProjectFolder;
use crate::support::waiting::until;

#[test]
fn events_of_a_step_its_tasks_and_its_threads_land_in_its_log() {
    let project = ProjectFolder::empty();
    let ended = project.run_example("traced", "run tell");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let log = project.run_example("traced", "logs latest tell").out;
    let expected = "INFO traced: message answer=42\n\
        WARN fetch{url=\"http://a\" took=\"7ms\"}: traced: slow retries=2\n\
        INFO traced: in a thread\n\
        its own line\n";
    assert_eq!(log, expected);
    assert!(ended.err.contains("\ninfo traced: outside of any step\n"), "{ended:?}");
    assert!(ended.err.contains("warn some_library::pool: the pool is full size=3"), "{ended:?}");
}

#[test]
fn rust_log_sets_the_levels_of_step_logs() {
    let project = ProjectFolder::empty().set("RUST_LOG", "warn,traced=debug");
    assert_eq!(project.run_example("traced", "run tell").code, Some(0));
    let log = project.run_example("traced", "logs latest tell").out;
    assert!(log.contains("DEBUG traced: detail name=\"ada\"\n"), "{log}");
    let project = ProjectFolder::empty().set("RUST_LOG", "error");
    assert_eq!(project.run_example("traced", "run tell").code, Some(0));
    assert_eq!(project.run_example("traced", "logs latest tell").out, "its own line\n");
}

#[test]
fn secret_in_a_field_is_masked() {
    let project = ProjectFolder::empty().set("TOKEN", "hunter22\"\\x");
    let ended = project.run_example("traced", "run reveal");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let log = project.run_example("traced", "logs latest reveal").out;
    assert!(!log.contains("hunter22"), "{log}");
    assert_eq!(
        log,
        "INFO login{token=\"***\"}: traced: the token is *** token=\"***\" shown=***\n"
    );
}

#[test]
fn parallel_steps_do_not_mix() {
    let project = ProjectFolder::empty();
    let ended = project.run_example("traced", "run count --jobs 4");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for cell in 0..4 {
        let log = project.run_example("traced", &format!("logs latest count[{cell}]")).out;
        let own = format!("INFO traced: n={cell} line=");
        assert!(log.lines().all(|line| line.starts_with(&own)), "{log}");
        assert_eq!(log.lines().count(), 200, "both tasks emitted all lines: {log}");
    }
}

#[test]
fn event_of_a_library_is_in_the_log_of_a_controller() {
    let project = ProjectFolder::empty();
    let line = "serve --listen 127.0.0.1:0 --no-token --log-format json";
    let controller = project.start_example("traced", line);
    until("it leads", || controller.said().contains("leads cluster"));
    let lines = controller.said();
    let mut lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let mut event = lines.find(|line| line["target"] == "some_library::pool").expect("it is there");
    event.as_object_mut().expect("an object").remove("time").expect("a time");
    let expected = json!({
        "level": "warn", "target": "some_library::pool", "message": "the pool is full",
        "fields": { "size": 3 },
    });
    assert_eq!(event, expected);
}

#[test]
fn log_level_of_a_controller_applies_to_events_of_libraries() {
    let project = ProjectFolder::empty();
    let line = "serve --listen 127.0.0.1:0 --no-token --log-level error";
    let controller = project.start_example("traced", line);
    until("it serves", || project.run_example("traced", "runs").code == Some(0));
    assert_eq!(controller.said(), "");
}

#[test]
fn subscriber_of_a_program_gets_all_events_and_steps_keep_theirs() {
    let project = ProjectFolder::empty();
    let ended = project.run_example("own_subscriber", "run");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(
        project.read("noted"),
        "INFO  own_subscriber\nINFO step own_subscriber\nTRACE step own_subscriber\n"
    );
    let log = project.run_example("own_subscriber", "logs latest tell").out;
    assert_eq!(log, "INFO own_subscriber: message answer=42\n");
    assert!(!ended.err.contains("subscriber"), "{ended:?}");
}
