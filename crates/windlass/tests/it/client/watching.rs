//! `windlass watch` at a controller shows events at once; its end does not end the run.

use rustix::process::Signal;

use crate::support::local_cluster::LocalCluster;
use crate::support::project_folder::ProjectFolder;
use crate::support::waiting::until;

const TALKS: &str = r#"
name: talks
steps:
  talk: { run: "echo one; echo >> trace; until test -e go; do sleep 0.02; done; echo two" }
"#;

#[test]
fn output_of_a_step_is_shown_while_it_runs() {
    let cluster = LocalCluster::start_in(ProjectFolder::with(TALKS), "--jobs 4");
    let run = cluster.submit_project();
    cluster.project.until_lines("trace", 1);
    let watching = cluster.begin(&format!("watch {run}"));
    until("the first line is seen", || watching.printed() == "one\n");
    assert!(watching.said().contains("talks running: 0 of 1 ended"), "{}", watching.said());
    cluster.project.file("go", "");
    let ended = watching.ended();
    assert_eq!((ended.code, &*ended.out), (Some(0), "one\ntwo\n"));
    assert!(ended.err.contains("✓ talks succeeded in"), "{}", ended.err);
}

#[test]
fn ctrl_c_ends_the_watch_and_the_run_continues() {
    let cluster = LocalCluster::start_in(ProjectFolder::with(TALKS), "--jobs 4");
    let watching = cluster.begin("submit --wait");
    cluster.project.until_lines("trace", 1);
    until("it watches", || watching.printed().ends_with("\none\n"));
    watching.signal(Signal::INT);
    let ended = watching.ended();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    let run = ended.out.lines().next().expect("the id was printed").to_owned();
    let (watch, cancel) =
        (format!("`windlass watch {run} --to"), format!("`windlass cancel {run} --to"));
    assert!(ended.err.contains("the run continues; "), "{}", ended.err);
    assert!(ended.err.contains(&watch) && ended.err.contains(&cancel), "{}", ended.err);
    assert_eq!(cluster.show(&run)["status"], "running");
    cluster.project.file("go", "");
    assert_eq!(cluster.status_at_end(&run), "succeeded");
    let again = cluster.run(&format!("watch {run}"));
    assert_eq!(again.code, Some(0), "who comes late sees the end");
    assert!(again.err.contains("✓ talks succeeded in"), "{}", again.err);
}

const PAIR: &str = r#"
name: pair
steps:
  first: { run: "echo >> trace; until test -e go; do sleep 0.02; done; echo said first" }
  second: { needs: first, run: "echo said second" }
"#;

#[test]
fn watch_survives_a_controller_restart() {
    let mut cluster = LocalCluster::start_in(ProjectFolder::with(PAIR), "--jobs 4");
    let run = cluster.submit_project();
    cluster.project.until_lines("trace", 1);
    let watching = cluster.begin(&format!("watch {run}"));
    watching.until_said("pair running");
    cluster.kill();
    watching.until_said("the controller does not answer");
    cluster.project.file("go", "");
    cluster.restart();
    let ended = watching.ended();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.err.matches("does not answer").count(), 1, "{}", ended.err);
    assert!(ended.err.contains("the controller answers again"), "{}", ended.err);
    assert!(ended.err.contains("✓ pair succeeded"), "{}", ended.err);
    assert!(ended.out.contains("said first") && ended.out.contains("said second"), "{}", ended.out);
}

#[test]
fn all_steps_of_a_run_are_followed_to_its_end() {
    let cluster = LocalCluster::start_in(ProjectFolder::with(PAIR), "--jobs 4");
    let run = cluster.submit_project();
    cluster.project.until_lines("trace", 1);
    let following = cluster.begin(&format!("logs {run} -f"));
    cluster.project.file("go", "");
    let ended = following.ended();
    assert_eq!((ended.code, &*ended.out), (Some(0), "said first\nsaid second\n"));
    let watched = cluster.data(&format!("watch {run} --json"));
    let shown: serde_json::Value = serde_json::from_str(&watched).expect("one object");
    assert_eq!((&shown["id"], &shown["status"]), (&(*run).into(), &"succeeded".into()));
}

#[test]
fn cancelled_run_ends_its_watchers() {
    let cluster = LocalCluster::start_in(ProjectFolder::with(TALKS), "--jobs 4");
    let watching = cluster.begin("submit --wait");
    cluster.project.until_lines("trace", 1);
    assert_eq!(cluster.run("cancel latest --kill").code, Some(0));
    let ended = watching.ended();
    assert_eq!(ended.code, Some(6), "{ended:?}");
    assert!(ended.err.contains("cancelling: running steps are killed"), "{}", ended.err);
}
