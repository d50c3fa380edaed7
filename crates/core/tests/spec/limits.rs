//! Durations of zero, and settings of `retry` that come from params.

use insta::assert_snapshot;
use windlass_core::id::StepIx;

use crate::outline::{diagnosis, listed, plan, told_with};

/// A wait of zero is allowed.
const NO_WAIT: &str = "
steps:
  a:
    wait_for_lock: 0s
    wait_for_worker: 0s
    kill_grace: 0s
    retry: { times: 1, wait: 0s }
    run: make
";

#[test]
fn zero_limit_is_reported() {
    let step = |line: &str| diagnosis(&format!("steps:\n  a:\n    {line}\n    run: make\n"));
    assert_snapshot!(step("timeout: 0s"), @r#"
    error[E056]: `timeout` is zero, which leaves no time
     --> windlass.yml:3:14
      |
    3 |     timeout: 0s
      |              ^^ must be greater than zero
      |
      = help: remove the key for no limit; to override `defaults`, write a long one: `7d`
    "#);
    assert_snapshot!(step("timeout: 0"), @r#"
    error[E056]: `timeout` is zero, which leaves no time
     --> windlass.yml:3:14
      |
    3 |     timeout: 0
      |              ^ must be greater than zero
      |
      = help: remove the key for no limit; to override `defaults`, write a long one: `7d`
    "#);
    assert_snapshot!(step("retry: { times: 3, wait: 0s..1m }"), @r#"
    error[E056]: a range of waits cannot begin with zero
     --> windlass.yml:3:30
      |
    3 |     retry: { times: 3, wait: 0s..1m }
      |                              ^^^^^^ the wait doubles from attempt to attempt
      |
      = help: `0s` alone retries at once
      |
      = write:
    3 |     retry: { times: 3, wait: 1s..1m }
    "#);
    assert_snapshot!(listed("timeout: 0h0m\ndefaults: { timeout: 0ms }\nsteps: { a: { run: make } }"), @r#"
    windlass.yml:1:10: error[E056]: `timeout` is zero, which leaves no time
    windlass.yml:2:22: error[E056]: `timeout` is zero, which leaves no time
    "#);
    let given =
        "params: { limit: 0s }\nsteps: { a: { run: make, timeout: \"${{ params.limit }}\" } }";
    assert_snapshot!(listed(given), @"windlass.yml:2:35: error[E042]: `timeout` takes a duration greater than zero such as `90s` or `15m`, but this renders to `0s`");
    assert_snapshot!(listed(NO_WAIT), @"nothing is wrong");
    assert_snapshot!(listed("steps: { a: { run: make, wait_for_lock: 0 } }"), @"windlass.yml:1:41: error[E029]: `wait_for_lock` needs a unit");
}

#[test]
fn retry_may_come_from_params() {
    let text = r#"
params: { times: 2, wait: "5s..1m", on: exit-3, lost: 0 }
steps:
  a:
    retry:
      times: "${{ params.times }}"
      wait: "${{ params.wait }}"
      on: ["${{ params.on }}", timed_out]
      lost: "${{ params.lost }}"
    run: make
"#;
    let retry = |given: &[(&str, &str)]| {
        let expanded = plan(text, given).expect("it is sound");
        expanded.plan.spec(StepIx(0)).expect("a step").retry.clone()
    };
    assert_snapshot!(format!("{:?}", retry(&[])), @"RetryPolicy { times: 2, wait_min: 5s, wait_max: 1m, on: [Exit(3), TimedOut], elsewhere: false, lost: 0 }");
    let wrong = [("wait", "0s..1m"), ("on", "always"), ("lost", "-1")];
    assert_snapshot!(told_with(text, &wrong), @r#"
    error[E042]: `wait` takes a duration such as `5s`, or a range such as `5s..1m`, but this renders to `0s..1m`
     --> windlass.yml:7:13
      |
    7 |       wait: "${{ params.wait }}"
      |             ^^^^^^^^^^^^^^^^^^^^

    error[E042]: `on` takes `failed`, `timed_out` or `exit-N`, but this renders to `always`
     --> windlass.yml:8:12
      |
    8 |       on: ["${{ params.on }}", timed_out]
      |            ^^^^^^^^^^^^^^^^^^

    error[E042]: `lost` takes a whole number from 0 to 10000, but this renders to `-1`
     --> windlass.yml:9:13
      |
    9 |       lost: "${{ params.lost }}"
      |             ^^^^^^^^^^^^^^^^^^^^
    "#);
    assert_snapshot!(listed(&text.replace("params.wait", "params.wiat")), @"windlass.yml:7:18: error[E082]: there is no param `wiat`");
}
