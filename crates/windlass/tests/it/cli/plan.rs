//! `plan`: the order, the requirements of each step, and the steps that would be skipped.

use std::fmt::Write as _;

use insta::assert_snapshot;
use serde_json::Value;

use crate::cli::ship::SHIP;
use crate::support::program::FinishedProgram;
use crate::support::project_folder::{ProjectFolder, repository};

#[test]
fn preferences_are_shown_beside_requirements() {
    let text = "steps:\n  a: { run: make, requires: executor=shell, prefers: [ssd, cpu>=64] }\n";
    let said = ProjectFolder::with(text).page("plan");
    assert!(said.contains("requires executor=shell · prefers ssd, cpu>=64"), "{said}");
}

#[test]
fn plan_is_shown() {
    assert_snapshot!(ProjectFolder::with(SHIP).page("plan"), @r#"
    ship: 6 steps (8 with cells) in 6 waves
    channel = "beta"

    1  lint    Clippy, warnings are errors
               retry 1 · timeout 15m
    2  test    3 cells · needs lint · requires os=linux (2 cells) or os=plan9 (1 cell)
               retry 2 after 5s..1m on exit-101 or timed_out on another worker · timeout 15m
               skipped here: 1 of 3 cells: this machine lacks os=plan9
    3  bundle  needs test · requires cpu>=1, gpu | executor=shell, not spot · retry 1 · timeout 15m
               priority 10
    4  soak    needs bundle · lock device-farm (2 slots) · retry 1 · timeout 1h
    5  deploy  needs bundle and soak · lock prod (newest first) · never dispatched twice · timeout 15m
               skipped: if params.channel == "stable" (params.channel = "beta")
    6  tell    needs deploy · always · retry 1 · timeout 15m · on the leader

    Longest chain, 6 steps:
      lint → test → bundle → soak → deploy → tell
    Would be skipped:
      test (1 of 3 cells), deploy
    "#);
}

#[test]
fn plan_fits_a_narrow_terminal() {
    let output = ProjectFolder::with(SHIP).command("plan").env("COLUMNS", "60").output().unwrap();
    assert_snapshot!(FinishedProgram::from(output).page(), @r#"
    ship: 6 steps (8 with cells) in 6 waves
    channel = "beta"

    1  lint    Clippy, warnings are errors
               retry 1 · timeout 15m
    2  test    3 cells · needs lint
               requires os=linux (2 cells) or os=plan9 (1 cell)
               retry 2 after 5s..1m on exit-101 or timed_out on
               another worker · timeout 15m
               skipped here: 1 of 3 cells: this machine lacks
               os=plan9
    3  bundle  needs test
               requires cpu>=1, gpu | executor=shell, not spot
               retry 1 · timeout 15m · priority 10
    4  soak    needs bundle · lock device-farm (2 slots)
               retry 1 · timeout 1h
    5  deploy  needs bundle and soak · lock prod (newest first)
               never dispatched twice · timeout 15m
               skipped: if params.channel == "stable"
               (params.channel = "beta")
    6  tell    needs deploy · always · retry 1 · timeout 15m
               on the leader

    Longest chain, 6 steps:
      lint → test → bundle → soak → deploy → tell
    Would be skipped:
      test (1 of 3 cells), deploy
    "#);
}

#[test]
fn plan_is_colored() {
    let text =
        "steps:\n  a: { run: make, about: All of it }\n  b: { run: make, requires: quantum }\n";
    let folder = ProjectFolder::with(text);
    let output = folder.command("plan").env("CLICOLOR_FORCE", "1").output().unwrap();
    assert_snapshot!(FinishedProgram::from(output).page().replace('\u{1b}', "^"), @r#"
    ^[1mapp^[0m: 2 steps in 1 wave

    ^[2m1^[0m  ^[1ma^[0m  ^[2mAll of it^[0m
    ^[2m ^[0m  ^[1mb^[0m  requires quantum
          ^[33mskipped here: this machine lacks quantum^[0m

    ^[33mWould be skipped:^[0m
      b
    "#);
}

#[test]
fn plan_of_selected_steps_includes_their_needs() {
    assert_snapshot!(ProjectFolder::with(SHIP).page("plan test"), @r#"
    ship: 2 steps (4 with cells) in 2 waves
    channel = "beta"

    1  lint  Clippy, warnings are errors
             retry 1 · timeout 15m
    2  test  3 cells · needs lint · requires os=linux (2 cells) or os=plan9 (1 cell)
             retry 2 after 5s..1m on exit-101 or timed_out on another worker · timeout 15m
             skipped here: 1 of 3 cells: this machine lacks os=plan9

    Longest chain, 2 steps:
      lint → test
    Would be skipped:
      test (1 of 3 cells)
    "#);
}

#[test]
fn plan_of_a_file_given_by_path_is_shown() {
    let output = ProjectFolder::empty()
        .command("plan examples/release.yml")
        .current_dir(repository())
        .output()
        .unwrap();
    assert_snapshot!(FinishedProgram::from(output).page(), @r#"
    release: 3 steps in 3 waves
    channel = "beta" · dry = true

    1  version  Says the version to the steps that need it
    2  notes    needs version
    3  publish  needs version and notes · lock registry (newest first) · never dispatched twice
                skipped: if params.channel == "stable" and not params.dry (params.channel = "beta",
                params.dry = true)

    Longest chain, 3 steps:
      version → notes → publish
    Would be skipped:
      publish
    "#);
}

#[test]
fn a_condition_that_is_decided_later_and_a_key_that_is_not_available() {
    let text = "steps:\n  a: { run: make, outputs: go, image: rust }\n  b: { needs: a, if: steps.a.outputs.go == \"yes\", http: { get: x } }\n";
    assert_snapshot!(ProjectFolder::with(text).page("plan"), @r#"
    app: 2 steps in 2 waves

    1  a
    2  b  needs a · if steps.a.outputs.go == "yes"
          cannot run: `http` is not available yet

    Longest chain, 2 steps:
      a → b
    --- said ---
    note: `http` is not available yet
    note: `image` is not available yet
    "#);
}

#[test]
fn hundred_thousand_cells_are_shown_in_one_line() {
    let axis = |name: &str| {
        let values: Vec<String> = (0..100).map(|n| format!("{name}{n}")).collect();
        values.join(", ")
    };
    let text = format!(
        "name: big\nsteps:\n  all:\n    matrix: {{ a: [{}], b: [{}], c: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] }}\n    run: make\n  end: {{ needs: all, run: make }}\n",
        axis("a"),
        axis("b")
    );
    assert_snapshot!(ProjectFolder::with(&text).page("plan"), @r#"
    big: 2 steps (100,001 with cells) in 2 waves

    1  all  100,000 cells
    2  end  needs all

    Longest chain, 2 steps:
      all → end
    "#);
}

#[test]
fn a_long_chain_is_shortened() {
    let mut text = "name: chain\nsteps:\n  s0: { run: make }\n".to_owned();
    for n in 1..1000 {
        let _ = writeln!(text, "  s{n}: {{ needs: s{}, run: make }}", n - 1);
    }
    let page = ProjectFolder::with(&text).data("plan");
    let end: Vec<&str> = page.lines().skip_while(|line| !line.starts_with("Longest")).collect();
    assert_snapshot!(end.join("\n"), @r#"
    Longest chain, 1,000 steps:
      s0 → s1 → s2 → s3 → s4 → s5 → s6 → s7 → s8 → s9 → s10 → s11 → … 977 more … → s989 → s990 → s991 →
      s992 → s993 → s994 → s995 → s996 → s997 → s998 → s999
    "#);
}

#[test]
#[expect(clippy::too_many_lines, reason = "a test is as long as what is printed")]
fn plan_is_printed_as_json() {
    let plan: Value = serde_json::from_str(&ProjectFolder::with(SHIP).data("plan --json")).unwrap();
    assert_snapshot!(plan["waves"], @r#"[["lint"],["test"],["bundle"],["soak"],["deploy"],["tell"]]"#);
    assert_snapshot!(format!("{:#}", plan["steps"][1]), @r#"
    {
      "about": null,
      "count": 3,
      "groups": [
        {
          "cells": [
            "test[linux,sqlite]",
            "test[linux,postgres]"
          ],
          "condition": "success",
          "idempotent": null,
          "if": null,
          "locks": [],
          "per_worker": null,
          "pin": null,
          "prefers": [],
          "priority": 0,
          "reason": null,
          "requires": [
            "os=linux"
          ],
          "retry": {
            "elsewhere": true,
            "lost": 3,
            "on": [
              "exit-101",
              "timed_out"
            ],
            "times": 2,
            "wait_max_ms": 60000,
            "wait_min_ms": 5000
          },
          "skipped": null,
          "timeout_ms": 900000
        },
        {
          "cells": [
            "test[plan9,sqlite]"
          ],
          "condition": "success",
          "idempotent": null,
          "if": null,
          "locks": [],
          "per_worker": null,
          "pin": null,
          "prefers": [],
          "priority": 0,
          "reason": "lacks os=plan9",
          "requires": [
            "os=plan9"
          ],
          "retry": {
            "elsewhere": true,
            "lost": 3,
            "on": [
              "exit-101",
              "timed_out"
            ],
            "times": 2,
            "wait_max_ms": 60000,
            "wait_min_ms": 5000
          },
          "skipped": "requirement",
          "timeout_ms": 900000
        }
      ],
      "matrix": true,
      "needs": [
        "lint"
      ],
      "step": "test",
      "tags": [],
      "unavailable": null,
      "wave": 2
    }
    "#);
    assert_eq!(plan["critical_path"][5], "tell");
    assert_eq!(plan["count"], 8);
}
