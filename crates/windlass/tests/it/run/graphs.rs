//! The meaning of a graph on one machine: matrices, locks, priorities, conditions, retries, time limits.

use std::collections::BTreeSet;

use crate::support::project_folder::ProjectFolder;

#[test]
fn a_matrix_runs_the_target_that_is_here_and_skips_the_others() {
    let project = ProjectFolder::with(
        r#"
name: targets
steps:
  before: { run: "true" }
  test:
    needs: before
    matrix: [windows, linux, macos]
    run: echo "$WINDLASS_STEP ${{ matrix.target }} $WINDLASS_MATRIX_TARGET" >> trace
  after: { needs: test, run: "echo after >> trace" }
  plain: { run: "echo plain $WINDLASS_STEP >> trace2" }
"#,
    );
    let ended = project.run("run");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(project.lines("trace"), ["test[linux] linux linux", "after"]);
    assert_eq!(project.lines("trace2"), ["plain plain"], "what has no matrix is one step");
    for (step, status) in [("windows", "skipped"), ("linux", "succeeded"), ("macos", "skipped")] {
        let step = project.step(&format!("test[{step}]"));
        assert_eq!(step["status"], status, "{step}");
    }
    let skipped = project.step("test[windows]");
    assert!(skipped["reason"].to_string().contains("windows"), "{skipped}");
    assert_eq!(project.step("test[windows]")["attempts"], serde_json::json!([]));
    let names: BTreeSet<String> = project.show()["steps"]
        .as_array()
        .expect("it lists steps")
        .iter()
        .filter_map(|step| step["name"].as_str().map(str::to_owned))
        .filter(|name| name.starts_with("test["))
        .collect();
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(ended.err.contains("test[windows]") && ended.err.contains("test[macos]"));
}

#[test]
fn dependent_of_a_matrix_waits_for_all_cells_and_reads_each_result() {
    let project = ProjectFolder::with(
        r#"
name: cells
steps:
  cell:
    matrix: { n: [1, 2, 3] }
    outputs: [n]
    run: |
      echo "cell $WINDLASS_MATRIX_N" >> trace
      echo "n=$WINDLASS_MATRIX_N" >> "$WINDLASS_OUTPUT"
  after: { needs: cell, run: "echo after >> trace" }
  one-fails:
    matrix: { n: [1, 2] }
    needs: after
    run: test "$WINDLASS_MATRIX_N" = 1
  blocked: { needs: one-fails, run: "echo blocked >> trace" }
"#,
    );
    let ended = project.run("run --keep-going --jobs 4");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let mut trace = project.lines("trace");
    assert_eq!(trace.pop().as_deref(), Some("after"), "last, whichever cell was the slowest");
    trace.sort();
    assert_eq!(trace, ["cell 1", "cell 2", "cell 3"]);
    assert_eq!(project.step("cell[2]")["outputs"]["n"], "2");
    assert_eq!(project.status("one-fails[1]"), "succeeded");
    assert_eq!(project.status("one-fails[2]"), "failed");
    assert_eq!(project.status("blocked"), "blocked");
}

/// Returns the maximum number of steps that ran at the same time.
fn most_at_once(trace: &[String]) -> i32 {
    let mut now = 0;
    let mut most = 0;
    for line in trace {
        now += if line.starts_with('+') { 1 } else { -1 };
        most = most.max(now);
    }
    most
}

#[test]
fn lock_has_no_more_holders_than_slots() {
    let step = |name: &str, lock: &str| {
        format!(
            "  {name}: {{ lock: {lock}, run: 'echo + >> {lock}; sleep 0.05; echo - >> {lock}' }}\n"
        )
    };
    let mut text = "name: locks\nlocks: { pair: 2 }\nsteps:\n".to_owned();
    for number in 0..10 {
        text.push_str(&step(&format!("a{number}"), "single"));
        text.push_str(&step(&format!("b{number}"), "pair"));
    }
    let project = ProjectFolder::with(&text);
    let ended = project.run("run --jobs 16");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(most_at_once(&project.lines("single")), 1);
    assert_eq!(most_at_once(&project.lines("pair")), 2);
}

#[test]
fn number_of_concurrent_steps_is_the_number_of_jobs() {
    let steps: Vec<String> = (0..12)
        .map(|n| format!("  s{n}: {{ run: 'echo + >> trace; sleep 0.2; echo - >> trace' }}\n"))
        .collect();
    let project = ProjectFolder::with(&format!("name: jobs\nsteps:\n{}", steps.concat()));
    project.data("run --jobs 3");
    assert_eq!(most_at_once(&project.lines("trace")), 3);
}

#[test]
fn priority_pin_condition_retry_and_timeout_take_effect() {
    let project = ProjectFolder::with(
        r#"
name: settings
steps:
  low: { priority: 1, run: "echo low >> trace" }
  high: { priority: 10, run: "echo high >> trace" }
  pinned: { pin: leader, priority: 5, run: "echo pinned >> trace" }
  off: { if: "'a' == 'b'", run: "echo off >> trace" }
  tries: { retry: { times: 2, wait: 10ms }, run: "echo try >> tries; test $WINDLASS_ATTEMPT = 3" }
  limited: { needs: tries, timeout: 200ms, ignore_failure: true, run: "sleep 1000" }
  wide: { requires: ["linux | moon", "cpu>=1"], run: "true" }
"#,
    );
    let ended = project.run("run --jobs 1");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(project.lines("trace"), ["high", "pinned", "low"]);
    assert_eq!(project.status("off"), "skipped");
    assert_eq!(project.lines("tries").len(), 3);
    let attempts = project.step("tries")["attempts"].as_array().map_or(0, Vec::len);
    assert_eq!(attempts, 3);
    assert_eq!(project.step("limited")["attempts"][0]["outcome"], "timed_out");
    assert_eq!(project.status("wide"), "succeeded");
}

#[test]
fn failure_blocks_only_its_dependents() {
    let project = ProjectFolder::with(
        r#"
name: blocks
steps:
  bad: { run: "exit 2" }
  mid: { needs: bad, run: "true" }
  end: { needs: mid, run: "true" }
  free: { run: "echo free >> trace" }
  tidy: { needs: end, if: failure(), run: "echo tidy >> trace" }
"#,
    );
    let ended = project.run("run --keep-going --jobs 2");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    for (step, status) in
        [("bad", "failed"), ("mid", "blocked"), ("end", "blocked"), ("free", "succeeded")]
    {
        assert_eq!(project.status(step), status, "{step}");
    }
    assert_eq!(project.show()["root_causes"].as_array().map_or(0, Vec::len), 1);
    assert!(project.lines("trace").contains(&"tidy".to_owned()));
}
