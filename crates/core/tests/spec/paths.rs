//! The values that expressions may read, and where.

use insta::assert_snapshot;

use crate::outline::{diagnosis, told_with};

#[test]
fn unknown_names_are_reported() {
    let text = "\
params: { channel: beta }
steps:
  bundle: { run: ./b.sh, outputs: [version] }
  test: { run: ./t.sh, matrix: [linux, windows], outputs: [took] }
  ship:
    needs: [bundle, test]
    env:
      A: ${{ params.chanel }}
      B: ${{ param.channel }}
      C: ${{ channel }}
      D: ${{ steps.bundel.outputs.version }}
      E: ${{ steps.bundle.outputs.versoin }}
      F: ${{ steps.bundle.result }}
      G: ${{ steps.test.outputs.took }}
      H: ${{ matrix.os }}
      I: ${{ env.HOME }}
      J: ${{ secrets.TOKEN }}
      K: ${{ run.number }}
      L: ${{ params }}
      M: ${{ weather }}
    run: ./ship.sh
";
    assert_snapshot!(diagnosis(text), @r#"
    error[E082]: there is no param `chanel`
     --> windlass.yml:8:14
      |
    8 |       A: ${{ params.chanel }}
      |              ^^^^^^^^^^^^^ did you mean `channel`?
      |
      = write:
    8 |       A: ${{ params.channel }}

    error[E081]: unknown name `param`
     --> windlass.yml:9:14
      |
    9 |       B: ${{ param.channel }}
      |              ^^^^^^^^^^^^^ did you mean `params`?

    error[E081]: unknown name `channel`
      --> windlass.yml:10:14
       |
    10 |       C: ${{ channel }}
       |              ^^^^^^^ did you mean `params.channel`?
       |
       = write:
    10 |       C: ${{ params.channel }}

    error[E084]: there is no step `bundel`
      --> windlass.yml:11:14
       |
    11 |       D: ${{ steps.bundel.outputs.version }}
       |              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^ did you mean `bundle`?
       |
       = write:
    11 |       D: ${{ steps.bundle.outputs.version }}

    error[E086]: `bundle` has no output `versoin`
      --> windlass.yml:12:14
       |
    12 |       E: ${{ steps.bundle.outputs.versoin }}
       |              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^ did you mean `version`?
       |
       = write:
    12 |       E: ${{ steps.bundle.outputs.version }}

    error[E081]: `steps.bundle.result` is not a valid path
      --> windlass.yml:13:14
       |
    13 |       F: ${{ steps.bundle.result }}
       |              ^^^^^^^^^^^^^^^^^^^
       |
       = help: write `steps.bundle.outputs.OUTPUT` or `steps.bundle.status`

    error[E086]: `test` is a matrix: its outputs are a list with one entry per cell
      --> windlass.yml:14:14
       |
    14 |       G: ${{ steps.test.outputs.took }}
       |              ^^^^^^^^^^^^^^^^^^^^^^^
       |
       = help: pass the whole `steps.test.outputs`, and read `took` from the `outputs` of each entry

    error[E083]: the step `ship` has no matrix
      --> windlass.yml:15:14
       |
    15 |       H: ${{ matrix.os }}
       |              ^^^^^^^^^

    error[E081]: unknown name `env`
      --> windlass.yml:16:14
       |
    16 |       I: ${{ env.HOME }}
       |              ^^^^^^^^
       |
       = help: read the variable in the script, as `$NAME`

    error[E081]: unknown name `secrets`
      --> windlass.yml:17:14
       |
    17 |       J: ${{ secrets.TOKEN }}
       |              ^^^^^^^^^^^^^
       |
       = help: list the secret under `secrets:` and read the variable in the script, as `$NAME`

    error[E081]: `run.number` is not a valid path
      --> windlass.yml:18:14
       |
    18 |       K: ${{ run.number }}
       |              ^^^^^^^^^^
       |
       = help: write `run.id` or `run.pipeline`

    error[E081]: `params` is not a valid path
      --> windlass.yml:19:14
       |
    19 |       L: ${{ params }}
       |              ^^^^^^
       |
       = help: write `params.NAME`

    error[E081]: unknown name `weather`
      --> windlass.yml:20:14
       |
    20 |       M: ${{ weather }}
       |              ^^^^^^^
       |
       = help: a path begins with `params.`, `matrix.`, `steps.` or `run.`; quote a string
    "#);
}

#[test]
fn step_may_read_only_its_needs() {
    let text = "\
steps:
  a: { run: x, outputs: [v] }
  b: { run: x, needs: a }
  near: { run: x, needs: a, env: { V: \"${{ steps.a.outputs.v }}\" } }
  far: { run: x, needs: b, env: { V: \"${{ steps.a.outputs.v }}\" } }
  never: { run: x, env: { V: \"${{ steps.a.outputs.v }}\" } }
  other: { run: x, needs: [b, near], if: steps.far.status == \"failed\" }
  self: { run: x, if: steps.self.status == \"failed\" }
";
    assert_snapshot!(diagnosis(text), @r#"
    error[E085]: `never` reads `a` without needing it
     --> windlass.yml:6:35
      |
    6 |   never: { run: x, env: { V: "${{ steps.a.outputs.v }}" } }
      |                                   ^^^^^^^^^^^^^^^^^ it may not have run yet
      |   ----- add `needs: a` to this step

    error[E085]: `other` reads `far` without needing it
     --> windlass.yml:7:42
      |
    7 |   other: { run: x, needs: [b, near], if: steps.far.status == "failed" }
      |                                          ^^^^^^^^^^^^^^^^ it may not have run yet
      |   ----- add `needs: [b, near, far]` to this step

    error[E085]: `self` cannot read its own result
     --> windlass.yml:8:23
      |
    8 |   self: { run: x, if: steps.self.status == "failed" }
      |                       ^^^^^^^^^^^^^^^^^
      |
      = help: only steps that need it can read its outputs
    "#);
}

#[test]
fn plan_time_values_cannot_read_run_time_values() {
    let text = "\
params: { x: 1 }
env: { A: \"${{ matrix.os }}\" }
timeout: ${{ run.id }}
steps:
  a: { run: x, outputs: [v] }
  b:
    needs: a
    run: x
    requires: [\"host=${{ steps.a.outputs.v }}\"]
    lock: prod-${{ steps.a.outputs.v }}
    timeout: ${{ steps.a.outputs.v }}
    if: run.id == \"x\"
    matrix: { os: [\"${{ steps.a.outputs.v }}\", \"${{ matrix.os }}\"] }
";
    assert_snapshot!(diagnosis(text), @r#"
    error[E083]: `matrix` has a value only inside a step with a matrix
     --> windlass.yml:2:16
      |
    2 | env: { A: "${{ matrix.os }}" }
      |                ^^^^^^^^^
      |
      = help: move it into the step

    error[E087]: `run.id` is not known yet
     --> windlass.yml:3:14
      |
    3 | timeout: ${{ run.id }}
      |              ^^^^^^
      |
      = help: the plan is made before the run begins

    error[E087]: `steps.a.outputs.v` is not known yet
     --> windlass.yml:9:26
      |
    9 |     requires: ["host=${{ steps.a.outputs.v }}"]
      |                          ^^^^^^^^^^^^^^^^^
      |
      = help: this setting is decided when the plan is made, before any step has run

    error[E087]: `steps.a.outputs.v` is not known yet
      --> windlass.yml:10:20
       |
    10 |     lock: prod-${{ steps.a.outputs.v }}
       |                    ^^^^^^^^^^^^^^^^^
       |
       = help: this setting is decided when the plan is made, before any step has run

    error[E087]: `steps.a.outputs.v` is not known yet
      --> windlass.yml:11:18
       |
    11 |     timeout: ${{ steps.a.outputs.v }}
       |                  ^^^^^^^^^^^^^^^^^
       |
       = help: this setting is decided when the plan is made, before any step has run

    error[E087]: `run.id` is not known yet
      --> windlass.yml:12:9
       |
    12 |     if: run.id == "x"
       |         ^^^^^^
       |
       = help: the plan is made before the run begins

    error[E087]: `steps.a.outputs.v` is not known yet
      --> windlass.yml:13:25
       |
    13 |     matrix: { os: ["${{ steps.a.outputs.v }}", "${{ matrix.os }}"] }
       |                         ^^^^^^^^^^^^^^^^^
       |
       = help: this setting is decided when the plan is made, before any step has run

    error[E087]: `matrix.os` is not known yet
      --> windlass.yml:13:53
       |
    13 |     matrix: { os: ["${{ steps.a.outputs.v }}", "${{ matrix.os }}"] }
       |                                                     ^^^^^^^^^
       |
       = help: these values define the cells
    "#);
}

#[test]
fn unreadable_expressions_and_scripts_are_reported() {
    let text = "\
params: { x: 1 }
steps:
  a: { run: make, if: params.x == 1 && params.x }
  b: { run: make, if: params.x + 1 }
  c: { run: make, env: { A: \"${{ params.x\" } }
  d: { run: make, env: { A: \"${{ }}\" } }
  e: { run: make, if: not failure() }
  f: { run: \"echo '${{ params.x }}'\" }
  g: { shell: python3, run: \"print(${{ params.x }})\" }
  h: { run: make, if: upper(params.x) }
  j: { run: make, shell: \"${{ params.x }}\" }
  i:
    run: |
      make
      echo \"a\" '${{ params.x }}'
";
    assert_snapshot!(diagnosis(text), @r#"
    error[E101]: `&&` has no meaning in an expression
     --> windlass.yml:3:37
      |
    3 |   a: { run: make, if: params.x == 1 && params.x }
      |                                     ^^
      |
      = help: write `and`
      |
      = write:
    3 |   a: { run: make, if: params.x == 1 and params.x }

    error[E101]: `+` has no meaning in an expression
     --> windlass.yml:4:32
      |
    4 |   b: { run: make, if: params.x + 1 }
      |                                ^
      |
      = help: there is no arithmetic: compute the value in a step and read its output

    error[E101]: `${{` has no `}}`
     --> windlass.yml:5:30
      |
    5 |   c: { run: make, env: { A: "${{ params.x" } }
      |                              ^^^
      |
      = help: write ${{ params.x }}

    error[E101]: the braces contain no expression
     --> windlass.yml:6:30
      |
    6 |   d: { run: make, env: { A: "${{ }}" } }
      |                              ^^^^^^
      |
      = help: write ${{ params.x }}; for the literal braces write ${{ "${{ }}" }}

    error[E101]: `not` cannot be applied to a status function
     --> windlass.yml:7:27
      |
    7 |   e: { run: make, if: not failure() }
      |                           ^^^^^^^^^
      |
      = help: write success(), or no `if:` at all

    error[E102]: sh does not expand variables between single quotes
     --> windlass.yml:8:20
      |
    8 |   f: { run: "echo '${{ params.x }}'" }
      |                    ^^^^^^^^^^^^^^^
      |
      = help: add a variable to the step, env: { X: "${{ params.x }}" }, and use "$X"

    error[E102]: `${{ }}` is not allowed in a script for `python3`
     --> windlass.yml:9:36
      |
    9 |   g: { shell: python3, run: "print(${{ params.x }})" }
      |                                    ^^^^^^^^^^^^^^^
      |
      = help: windlass knows only the quoting of sh: write `env: { VALUE: "${{ params.x }}" }` and read the variable

    error[E101]: there is no function `upper()`
      --> windlass.yml:10:23
       |
    10 |   h: { run: make, if: upper(params.x) }
       |                       ^^^^^
       |
       = help: the functions are default(value, fallback) and, in `if:`, success(), failure() and always()

    error[E087]: `shell` cannot contain `${{ }}`, because the shell decides how `${{ }}` is read
      --> windlass.yml:11:26
       |
    11 |   j: { run: make, shell: "${{ params.x }}" }
       |                          ^^^^^^^^^^^^^^^^^
       |
       = help: write the shell literally, or make two steps with an `if:` each

    error[E102]: sh does not expand variables between single quotes
      --> windlass.yml:15:17
       |
    15 |       echo "a" '${{ params.x }}'
       |                 ^^^^^^^^^^^^^^^
       |
       = help: add a variable to the step, env: { X: "${{ params.x }}" }, and use "$X"
    "#);
}

#[test]
fn mistyped_values_are_reported_when_planning() {
    let text = "\
params: { t: \"15\", n: 2, s: text, opt: { required: false } }
steps:
  a: { run: make, timeout: \"${{ params.t }}\" }
  b: { run: make, if: params.s }
  c: { run: make, if: params.s < 3 }
  d: { run: make, env: { A: \"${{ params.opt }}\" } }
  e: { run: make, retry: \"${{ params.s }}\" }
  f: { run: make, requires: \"cpu>=${{ params.s }}\" }
  g: { run: make, lock: \"${{ default(params.opt, '') }}\" }
  h: { run: make, lock: [a, \"${{ 'a' }}\"] }
";
    assert_snapshot!(diagnosis(text), @r#"
    error[E042]: `timeout` takes a duration greater than zero such as `90s` or `15m`, but this renders to `15`
     --> windlass.yml:3:28
      |
    3 |   a: { run: make, timeout: "${{ params.t }}" }
      |                            ^^^^^^^^^^^^^^^^^

    error[E088]: `params.s` is the text "text", not a boolean
     --> windlass.yml:4:23
      |
    4 |   b: { run: make, if: params.s }
      |                       ^^^^^^^^
      |
      = help: compare it, as in params.s == "true"

    error[E104]: `<` cannot be used here: `params.s` is the text "text"
     --> windlass.yml:5:23
      |
    5 |   c: { run: make, if: params.s < 3 }
      |                       ^^^^^^^^
      |
      = help: `<` compares numbers

    error[E104]: `params.opt` has no value, and a string requires one
     --> windlass.yml:6:34
      |
    6 |   d: { run: make, env: { A: "${{ params.opt }}" } }
      |                                  ^^^^^^^^^^
      |
      = help: write default(params.opt, "…")

    error[E042]: `retry` takes a whole number from 0 to 10000, but this renders to `text`
     --> windlass.yml:7:26
      |
    7 |   e: { run: make, retry: "${{ params.s }}" }
      |                          ^^^^^^^^^^^^^^^^^

    error[E042]: `requires` takes a requirement, but this renders to `cpu>=text`
     --> windlass.yml:8:29
      |
    8 |   f: { run: make, requires: "cpu>=${{ params.s }}" }
      |                             ^^^^^^^^^^^^^^^^^^^^^^

    error[E052]: a lock requires a name
     --> windlass.yml:9:25
      |
    9 |   g: { run: make, lock: "${{ default(params.opt, '') }}" }
      |                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

    error[E055]: `h` takes the lock `a` twice
      --> windlass.yml:10:29
       |
    10 |   h: { run: make, lock: [a, "${{ 'a' }}"] }
       |                             ^^^^^^^^^^^^
    "#);
}

#[test]
fn given_params_are_checked() {
    let text = "\
params:
  channel: { choose: [beta, stable], default: beta }
  level: 3
  who:
steps:
  a: { run: make }
";
    assert_snapshot!(told_with(text, &[("chanel", "x"), ("level", "high"), ("channel", "nightly")]), @r#"
    error[E121]: there is no param `chanel`
     --> windlass.yml:2:3
      |
    2 |   channel: { choose: [beta, stable], default: beta }
      |   ^^^^^^^
      |
      = help: did you mean `channel`?

    error[E123]: `nightly` is not one of the choices of the param `channel`
     --> windlass.yml:2:3
      |
    2 |   channel: { choose: [beta, stable], default: beta }
      |   ^^^^^^^
      |
      = help: use one of beta, stable

    error[E124]: the param `level` is a number, but `high` is not
     --> windlass.yml:3:3
      |
    3 |   level: 3
      |   ^^^^^

    error[E122]: missing param `who`
     --> windlass.yml:4:3
      |
    4 |   who:
      |   ^^^
      |
      = help: pass it with `--param who=…`, or declare a default
    "#);
}
