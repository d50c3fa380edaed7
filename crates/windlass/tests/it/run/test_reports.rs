//! Test reports that steps write: shown at the end of the run and by `show`, and never a reason to fail.

use serde_json::json;

use crate::support::project_folder::ProjectFolder;

const FAILED: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="2" failures="1" errors="0" time="0.750">
  <testsuite name="calc::it" tests="2" failures="1">
    <testcase name="adds" classname="calc::it" time="0.012"/>
    <testcase name="subtracts" classname="calc::it" time="0.034">
      <failure message="assertion failed" type="test failure">assertion failed at tests/it.rs:9:5:
the token is hunter22
  left: -1</failure>
    </testcase>
  </testsuite>
</testsuites>"#;

const PASSED: &str = r#"<testsuite name="more" time="0.25"><testcase name="a"/><testcase name="b"><skipped/></testcase></testsuite>"#;

fn project(steps: &str) -> ProjectFolder {
    let project = ProjectFolder::with(steps).set("TOKEN", "hunter22");
    project.file("failed.xml", FAILED);
    project.file("passed.xml", PASSED);
    project
}

#[test]
fn failing_tests_are_named_at_the_end_of_the_run_and_by_show() {
    let project = project(
        r#"
name: tested
steps:
  unit:
    secrets: [TOKEN]
    reports: { junit: [out/unit.xml, "out/more-*.xml"] }
    run: |
      mkdir -p out
      cp failed.xml out/unit.xml
      cp passed.xml out/more-1.xml
      exit 3
  lint: { reports: { junit: lint.xml }, run: cat passed.xml > lint.xml }
  plain: { run: "true" }
"#,
    );
    let ended = project.run("run --keep-going");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let told = "\
✗ unit  4 tests: 2 passed, 1 failed, 1 skipped in 1.0s
  calc::it: subtracts
    │ assertion failed at tests/it.rs:9:5:
    │ the token is ***
    │   left: -1
✓ lint  2 tests: 1 passed, 1 skipped in 250ms
";
    // Redirected messages have no glyphs of a terminal in every locale: the words are compared.
    let words = |text: &str| {
        text.split_whitespace().filter(|it| it.is_ascii()).collect::<Vec<_>>().join(" ")
    };
    assert!(words(&ended.err).contains(&words(told)), "{}", ended.err);
    assert!(words(&project.data("show")).contains(&words(told)));
    let tests = &project.step("unit")["tests"];
    assert_eq!(
        *tests,
        json!({
            "tests": 4, "failures": 1, "errors": 0, "skipped": 1, "duration_ms": 1000,
            "failing": [{
                "suite": "calc::it", "name": "subtracts", "duration_ms": 34,
                "message": "assertion failed at tests/it.rs:9:5:\nthe token is ***\n  left: -1",
            }],
        })
    );
    assert_eq!(project.step("lint")["tests"]["tests"], 2);
    assert!(project.step("plain").get("tests").is_none());
    assert_eq!(project.data("logs latest"), "", "a report is nothing that was printed");
}

#[test]
fn missing_or_broken_report_is_a_notice_and_changes_no_outcome() {
    let project = project(
        r#"
steps:
  missing: { reports: { junit: target/junit.xml }, run: "true" }
  broken: { reports: { junit: "*.broken.xml" }, run: head -c 200 failed.xml > a.broken.xml }
  old: { reports: { junit: passed.xml }, run: "true" }
  folder: { reports: { junit: folder.xml }, run: mkdir folder.xml }
  pipe: { reports: { junit: pipe.xml }, run: mkfifo pipe.xml }
  endless: { reports: { junit: endless.xml }, run: ln -s /dev/zero endless.xml }
"#,
    );
    let ended = project.run("run --keep-going");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let log = |step: &str| project.data(&format!("logs latest {step}"));
    assert_eq!(log("missing"), "windlass: reports: target/junit.xml does not exist\n");
    let broken = log("broken");
    assert!(
        broken.starts_with(
            "windlass: reports: a.broken.xml is no JUnit report: it cannot be read as XML: it ends"
        ),
        "{broken}"
    );
    let old =
        "windlass: reports: passed.xml is ignored: it was not written since this attempt began\n";
    assert_eq!(log("old"), old);
    assert_eq!(log("folder"), "windlass: reports: folder.xml does not exist\n");
    let unreadable =
        |file: &str| format!("windlass: reports: {file} cannot be read: it is not a file\n");
    assert_eq!(log("pipe"), unreadable("pipe.xml"));
    let endless = log("endless");
    assert!(endless.starts_with("windlass: reports: endless.xml "), "{endless}");
    assert!(project.step("broken").get("tests").is_none());
}

#[test]
fn github_gets_the_tests_on_the_page_of_the_run() {
    let project = project(
        "name: tested\nsteps: { a: { reports: { junit: a.xml }, run: cp failed.xml a.xml } }",
    );
    let page = project.path().join("page.md").display().to_string();
    let project = project.set("GITHUB_ACTIONS", "true").set("GITHUB_STEP_SUMMARY", &page);
    assert_eq!(project.run("run").code, Some(0));
    let page = project.read("page.md");
    for part in ["| a | 2 | 1 | 1 | 0 | 0 | 750ms |", "**a** calc::it: subtracts\n\n```text\n"] {
        assert!(page.contains(part), "{part} in {page}");
    }
}

#[test]
fn last_attempt_counts() {
    let project = project(
        r"
steps:
  flaky:
    retry: { times: 1, wait: 0s }
    reports: { junit: junit.xml }
    run: |
      if test -e again; then cp passed.xml junit.xml; else cp failed.xml junit.xml; touch again; exit 1; fi
",
    );
    assert_eq!(project.run("run").code, Some(0));
    let tests = &project.step("flaky")["tests"];
    assert_eq!((&tests["tests"], &tests["failures"]), (&json!(2), &json!(0)));
}

#[test]
fn report_of_a_stopped_attempt_is_read() {
    let project = project(
        r"
steps:
  slow: { timeout: 2s, reports: { junit: junit.xml }, run: cp failed.xml junit.xml; sleep 1000 }
",
    );
    assert_eq!(project.run("run").code, Some(1));
    assert_eq!(project.status("slow"), "timed_out");
    assert_eq!(project.step("slow")["tests"]["failures"], 1);
}

#[test]
fn pattern_outside_the_root_and_reports_of_a_call_are_refused() {
    let project = project("steps: { a: { run: make, reports: { junit: ../junit.xml } } }");
    let refused = |text: &str| {
        let ended = project.run("validate");
        assert!(ended.code == Some(3) && ended.out.contains(text), "{ended:?}");
    };
    refused("error[E057]: `../junit.xml` leads out of the workspace");
    project.file("windlass.yml", "steps: { a: { call: noop, reports: { junit: a.xml } } }");
    refused("this step has no `run`");
}
