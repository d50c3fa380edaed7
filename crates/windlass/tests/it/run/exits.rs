//! Every exit code, each by a run that ends with it.

use rustix::process::Signal;

use crate::support::project_folder::ProjectFolder;

#[test]
fn each_exit_code_is_reached_by_a_run() {
    let ok = ProjectFolder::with("name: ok\nsteps:\n  a: { run: 'true' }\n");
    assert_eq!(ok.run("run").code, Some(0));
    assert_eq!(ok.run("run nosuch").code, Some(2), "a step that is not there");
    assert_eq!(ok.run("run --nosuch").code, Some(2), "a flag that is not there");
    assert_eq!(ok.run("run nosuch.yml").code, Some(3), "a file that is not there");

    let failing = ProjectFolder::with("name: failing\nsteps:\n  a: { run: 'exit 7' }\n");
    let failed = failing.run("run");
    assert_eq!(failed.code, Some(1));
    assert!(failed.err.contains("exit 7"), "{}", failed.err);

    let wrong = ProjectFolder::with("name: wrong\nsteps:\n  a: { runs: 'true' }\n");
    let ended = wrong.run("run");
    assert_eq!(ended.code, Some(3));
    assert!(ended.err.contains("`run`"), "it suggests: {}", ended.err);
    assert!(!wrong.path().join(".windlass").exists(), "nothing is made for a file that is wrong");

    let sleeping = ProjectFolder::with(
        "name: sleeping\nsteps:\n  a: { run: 'echo a >> trace; sleep 1000' }\n",
    );
    let running = sleeping.start("run");
    sleeping.until_lines("trace", 1);
    sleeping.file("taken", "a file, where the store should be");
    assert_eq!(sleeping.run("run --store taken").code, Some(5));
    sleeping.data("cancel latest");
    assert_eq!(running.ended().code, Some(6));
    let running = sleeping.start("run");
    sleeping.until_lines("trace", 2);
    running.signal(Signal::INT);
    assert_eq!(running.ended().code, Some(130));
}

#[test]
fn unplaceable_step_blocks_its_dependents() {
    let project = ProjectFolder::with(
        "name: labels\nsteps:\n  here: { run: 'true' }\n  there: { requires: [moon], run: 'true' }\n  after: { needs: there, run: 'echo after >> trace' }\n",
    );
    let ended = project.run("run");
    assert_eq!(ended.code, Some(4), "a step that needs it was withheld: {ended:?}");
    assert!(ended.err.contains("moon"), "{}", ended.err);
    assert_eq!(
        (project.status("there"), project.status("after")),
        ("skipped".into(), "blocked".into())
    );
    assert_eq!(project.lines("trace"), [""; 0], "a step whose need could not run does not run");
    let why = project.data("why latest after");
    assert!(why.contains("there could not run: needs moon"), "{why}");
    let unmet = project.run("run --no-skip");
    assert_eq!(unmet.code, Some(4), "{unmet:?}");
    let named = project.run("run there");
    assert_eq!(named.code, Some(4), "{named:?}");
    let beside = project.run("run here");
    assert_eq!(beside.code, Some(0), "{beside:?}");
    let labelled = project.run("run there --label moon");
    assert_eq!(labelled.code, Some(0), "{labelled:?}");
    assert_eq!(project.status("there"), "succeeded");
}

#[test]
fn a_failure_beside_an_unmet_requirement_is_a_failure() {
    let project = ProjectFolder::with(
        "name: both\nsteps:\n  a: { requires: [moon], run: 'true' }\n  b: { run: 'exit 1' }\n",
    );
    assert_eq!(project.run("run --no-skip --keep-going").code, Some(1));
}
