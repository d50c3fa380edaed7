//! Artifacts of steps in `windlass run`: what is kept, what dependents find, what is refused.

use crate::support::project_folder::ProjectFolder;

const PAGES: &str = r#"
steps:
  build:
    matrix: { page: [a, b] }
    run: 'mkdir -p dist && echo ${{ matrix.page }} > dist/${{ matrix.page }}.html && echo map > dist/${{ matrix.page }}.map'
    artifacts: ["dist/${{ matrix.page }}.*", "!**/*.map"]
  check:
    needs: build
    fetch: { build: "in/${{ cell }}" }
    run: cat in/a/dist/a.html in/b/dist/b.html > found; test ! -e in/a/dist/a.map
"#;

#[test]
fn artifacts_of_cells_are_found_in_folders_of_their_own() {
    let project = ProjectFolder::with(PAGES);
    let ended = project.run("run");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(project.lines("found"), ["a", "b"]);
}

#[test]
fn missing_artifact_fails_the_step_unless_it_may_be_missing() {
    let text = |missing: &str| {
        format!(
            "steps:\n  a: {{ run: echo hi, artifacts: {{ paths: [dist, '*.log'], missing: {missing} }} }}\n"
        )
    };
    let ended = ProjectFolder::with(&text("fail")).run("run");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.err.contains("no file matches the artifacts dist, *.log"), "{}", ended.err);
    let ended = ProjectFolder::with(&text("ignore")).run("run");
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn conflicting_artifacts_are_refused_before_the_step_starts() {
    let project = ProjectFolder::with(
        "steps:\n  t:\n    matrix: { n: [1, 2] }\n    lock: ./one\n    run: 'echo ${{ matrix.n }} > report'\n    artifacts: report\n  \
         all: { needs: t, fetch: { t: in }, run: echo ran >> trace }\n",
    );
    let ended = project.run("run");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.err.contains("`t[1]` and `t[2]` both made `in/report`"), "{}", ended.err);
    assert!(!project.path().join("trace").exists());
}

#[test]
fn artifacts_of_a_failed_attempt_are_kept_only_if_wanted() {
    let project = ProjectFolder::with(
        "steps:\n  a: { run: 'echo shot > shot.png; exit 1', artifacts: { paths: shot.png, when: failure } }\n  \
         b: { needs: a, if: failure(), fetch: { a: seen }, run: cat seen/shot.png > found }\n",
    );
    let ended = project.run("run");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(project.lines("found"), ["shot"]);
}

#[test]
fn file_that_was_removed_is_restored_for_its_dependent() {
    let project = ProjectFolder::with(
        "steps:\n  a: { run: 'echo one > made && chmod +x made', artifacts: made }\n  \
         gone: { needs: a, fetch: [], run: rm made }\n  \
         b: { needs: [a, gone], run: test -x made && cp made found }\n",
    );
    let ended = project.run("run");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(project.lines("found"), ["one"]);
}

#[test]
fn dependents_get_the_artifact_of_this_run_and_not_a_file_of_an_earlier_one() {
    let project = ProjectFolder::with(
        "params: { v: one }\nsteps:\n  a: { run: 'echo ${{ params.v }} > made', artifacts: made }\n  \
         b: { needs: a, fetch: { a: in }, run: cp in/made found }\n",
    );
    for value in ["one", "two"] {
        assert_eq!(project.run(&format!("run -p v={value}")).code, Some(0));
        assert_eq!(project.lines("found"), [value]);
    }
}

#[test]
fn parallel_dependents_get_the_same_artifacts_into_one_folder() {
    let project = ProjectFolder::with(
        "steps:\n  a: { run: 'mkdir d && for n in 1 2 3 4 5 6; do echo $n > d/$n; done', artifacts: d }\n  \
         t: { needs: a, matrix: { n: [1, 2, 3, 4] }, run: test -s d/6 }\n",
    );
    assert_eq!(project.run("run").code, Some(0));
    std::fs::remove_dir_all(project.path().join("d")).expect("the folder is there");
    let ended = project.run("rerun latest --from t --jobs 4");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(project.lines("d/6"), ["6"]);
    let left = std::fs::read_dir(project.path()).expect("it is a folder").flatten();
    let staged = |name: &str| name.starts_with(".windlass-fetch");
    assert!(!left.map(|it| it.file_name()).any(|it| it.to_str().is_some_and(staged)));
}

#[test]
fn rerun_from_a_dependent_finds_the_artifacts_of_the_reused_step() {
    let project = ProjectFolder::with(
        "steps:\n  a: { run: echo one > made, artifacts: made }\n  b: { needs: a, run: cp made found }\n",
    );
    assert_eq!(project.run("run").code, Some(0));
    for file in ["made", "found"] {
        std::fs::remove_file(project.path().join(file)).expect("the file is there");
    }
    let ended = project.run("rerun latest --from b");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(project.lines("found"), ["one"]);
    let listed = project.data("artifacts ls latest a");
    assert!(listed.contains("made"), "{listed}");
}

#[test]
fn artifacts_of_another_step_or_path_are_refused_with_a_hint() {
    let project = ProjectFolder::with("steps:\n  a: { run: echo one > made, artifacts: made }\n");
    assert_eq!(project.run("run").code, Some(0));
    project.run("artifacts get latest b").expect_error(2, "has no step `b`");
    project.run("artifacts get latest a other -o out").expect_error(2, "no artifact matches");
    assert_eq!(project.run("artifacts get latest a -o out").code, Some(0));
    assert_eq!(project.lines("out/made"), ["one"]);
}

#[test]
fn link_that_leaves_the_workspace_is_no_artifact() {
    let project =
        ProjectFolder::with("steps:\n  a: { run: ln -s /etc/passwd out, artifacts: out }\n");
    let ended = project.run("run");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.err.contains("its artifacts could not be stored"), "{}", ended.err);
}
