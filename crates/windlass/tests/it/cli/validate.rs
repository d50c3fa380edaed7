//! `validate`: everything that is wrong, or what was found.

use insta::assert_snapshot;
use serde_json::Value;

use crate::cli::ship::SHIP;
use crate::support::program::FinishedProgram;
use crate::support::project_folder::ProjectFolder;

#[test]
fn valid_file_is_summarized() {
    assert_snapshot!(ProjectFolder::with(SHIP).page("validate"), @r#"
    windlass.yml is valid: 6 steps, 3 matrix cells, 2 locks and 1 param
    note: axes named `os` and `arch` select the machine, here in test; this machine cannot run 1 of 3 cells: test[plan9,sqlite]
    "#);
}

#[test]
fn a_matrix_that_chooses_machines_is_noted() {
    let expected = |matrix: &str| {
        let text = format!("steps:\n  test: {{ matrix: {matrix}, run: make }}\n");
        ProjectFolder::with(&text).page("validate")
    };
    assert_snapshot!(expected("{ os: [linux], arch: [m68k, sparc], db: [a, b] }"), @r#"
    windlass.yml is valid: 1 step and 4 matrix cells
    note: axes named `os` and `arch` select the machine, here in test; this machine cannot run 4 of 4 cells: test[linux,m68k,a], test[linux,m68k,b], test[linux,sparc,a] and test[linux,sparc,b]
    "#);
    assert_snapshot!(expected("{ db: [a, b] }"), @"windlass.yml is valid: 1 step and 2 matrix cells");
    assert_snapshot!(expected("{ os: [linux, plan9], route: os }"), @"windlass.yml is valid: 1 step and 2 matrix cells");
    assert_snapshot!(expected("{ arch: [sparc, m68k, mips, sparc64, s390x, riscv32] }"), @r#"
    windlass.yml is valid: 1 step and 6 matrix cells
    note: axes named `os` and `arch` select the machine, here in test; this machine cannot run 6 of 6 cells: test[sparc], test[m68k], test[mips] and 3 more
    "#);
    assert_snapshot!(expected("[sqlite, postgres]"), @r#"
    windlass.yml is valid: 1 step and 2 matrix cells
    note: a matrix that is a list requires machines with these labels, here in test; this machine cannot run 2 of 2 cells: test[sqlite] and test[postgres]; to use values that are no labels, name the axis: `matrix: { db: [a, b] }`
    "#);
    let folder = ProjectFolder::with("steps: { test: { matrix: { os: [plan9] }, run: make } }");
    let json: Value = serde_json::from_str(&folder.data("validate --json")).unwrap();
    assert_eq!(json["refused_here"], serde_json::json!(["test[plan9]"]));
}

#[test]
fn every_problem_is_reported_at_once() {
    let text = "stages: 1\nsteps:\n  a:\n    run: make\n    timeout: 15\n    need: b\n";
    assert_snapshot!(ProjectFolder::with(text).page("validate"), @r#"
    exit code 3
    error[E041]: unknown key `stages` in a pipeline
     --> windlass.yml:1:1
      |
    1 | stages: 1
      | ^^^^^^
      |
      = help: windlass has no stages: list the `needs` of each step

    error[E029]: `timeout` needs a unit
     --> windlass.yml:5:14
      |
    5 |     timeout: 15
      |              ^^ a number without a unit
      |
      = help: write a duration as `250ms`, `90s`, `15m`, `2h` or `1h30m`
      |
      = write:
    5 |     timeout: 15m

    error[E041]: unknown key `need` in a step
     --> windlass.yml:6:5
      |
    6 |     need: b
      |     ^^^^ windlass calls it `needs`
      |
      = help: `needs`: Steps that must have ended before this one starts
      |
      = write:
    6 |     needs: b

    windlass.yml: 3 errors; for details, run `windlass explain E041`
    "#);
}

#[test]
fn problems_are_colored() {
    let folder = ProjectFolder::with("steps:\n  a: { run: make, timeout: 15 }\n");
    let output = folder.command("validate").env("CLICOLOR_FORCE", "1").output().unwrap();
    assert_snapshot!(FinishedProgram::from(output).page().replace('\u{1b}', "^"), @r#"
    exit code 3
    ^[1;31merror[E029]^[0m^[1m: `timeout` needs a unit^[0m
    ^[1;34m -->^[0m windlass.yml:2:28
    ^[1;34m  |^[0m
    ^[1;34m2 |^[0m   a: { run: make, timeout: 15 }
    ^[1;34m  |^[0m                            ^[1;31m^^ a number without a unit^[0m
    ^[1;34m  |^[0m
    ^[1;34m  =^[0m ^[1mhelp:^[0m write a duration as `250ms`, `90s`, `15m`, `2h` or `1h30m`
    ^[1;34m  |^[0m
    ^[1;34m  =^[0m ^[1mwrite:^[0m
    ^[1;34m2 |^[0m ^[32m  a: { run: make, timeout: 15m }^[0m

    windlass.yml: ^[31m1 error^[0m; for details, run `windlass explain E029`
    "#);
    let mut plain = folder.command("validate");
    let plain = plain.env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1").output().unwrap();
    assert!(!FinishedProgram::from(plain).page().contains('\u{1b}'));
}

#[test]
fn unavailable_key_is_a_note() {
    let folder = ProjectFolder::with("steps:\n  a: { run: make, image: rust }\n");
    assert_snapshot!(folder.page("validate"), @r#"
    note[E043]: `image` is not available yet
     --> windlass.yml:2:19
      |
    2 |   a: { run: make, image: rust }
      |                   ^^^^^ this version of windlass cannot execute this key

    windlass.yml: 1 note; for details, run `windlass explain E043`
    windlass.yml is valid: 1 step
    "#);
}

#[test]
fn a_param_that_must_be_given_is_no_problem_of_the_file() {
    let text =
        "params: { version: }\nsteps:\n  a: { run: make, timeout: \"${{ params.version }}\" }\n";
    let folder = ProjectFolder::with(text);
    assert_snapshot!(folder.page("validate"), @r#"windlass.yml is valid: 1 step and 1 param"#);
    assert_snapshot!(folder.page("validate -p version=soon"), @r#"
    exit code 3
    error[E042]: `timeout` takes a duration greater than zero such as `90s` or `15m`, but this renders to `soon`
     --> windlass.yml:3:28
      |
    3 |   a: { run: make, timeout: "${{ params.version }}" }
      |                            ^^^^^^^^^^^^^^^^^^^^^^^

    windlass.yml: 1 error; for details, run `windlass explain E042`
    "#);
}

#[test]
fn problems_are_printed_as_json() {
    let folder = ProjectFolder::with("steps:\n  a: { run: make, timeout: 15 }\n");
    let ended = folder.run("validate --json");
    assert_eq!(ended.code, Some(3));
    let report: Value = serde_json::from_str(&ended.out).unwrap();
    assert_snapshot!(format!("{report:#}"), @r#"
    {
      "file": "windlass.yml",
      "problems": [
        {
          "code": "E029",
          "column": 28,
          "end_column": 30,
          "end_line": 2,
          "fix": "  a: { run: make, timeout: 15m }",
          "help": "write a duration as `250ms`, `90s`, `15m`, `2h` or `1h30m`",
          "label": "a number without a unit",
          "line": 2,
          "severity": "error",
          "title": "`timeout` needs a unit"
        }
      ],
      "valid": false
    }
    "#);
    let report: Value =
        serde_json::from_str(&ProjectFolder::with(SHIP).data("validate --json")).unwrap();
    assert_snapshot!(report, @r#"{"cells":3,"file":"windlass.yml","locks":["device-farm","prod"],"params":["channel"],"problems":[],"refused_here":["test[plan9,sqlite]"],"steps":["lint","test","bundle","soak","deploy","tell"],"valid":true}"#);
}
