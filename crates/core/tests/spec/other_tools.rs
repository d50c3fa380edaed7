//! Syntax of other tools: reported by its name in that tool, with the equivalent here, all at once.

use insta::assert_snapshot;

use crate::outline::{diagnosis, listed};

#[test]
fn github_workflow_is_explained() {
    let text = "\
name: CI
on: [push]
jobs:
  build:
    runs-on: ubuntu-latest
    strategy: { matrix: { os: [linux] } }
    timeout-minutes: 15
    if: ${{ github.ref == 'refs/heads/main' && success() }}
    steps:
      - uses: actions/checkout@v4
      - run: make
";
    assert_snapshot!(diagnosis(text), @r#"
    error[E041]: unknown key `on` in a pipeline
     --> windlass.yml:2:1
      |
    2 | on: [push]
      | ^^
      |
      = help: `windlass run` starts a run: call it from cron, a hook or a CI service

    error[E041]: unknown key `jobs` in a pipeline
     --> windlass.yml:3:1
      |
    3 | jobs:
      | ^^^^ windlass calls it `steps`
      |
      = help: `steps`: Steps of the pipeline, by name
      |
      = write:
    3 | steps:

    error[E041]: unknown key `runs-on` in a step
     --> windlass.yml:5:5
      |
    5 |     runs-on: ubuntu-latest
      |     ^^^^^^^
      |
      = help: windlass calls it `requires`; it takes labels of workers, such as `linux` or `cpu>=4`; `windlass doctor` lists the labels of this machine

    error[E041]: unknown key `strategy` in a step
     --> windlass.yml:6:5
      |
    6 |     strategy: { matrix: { os: [linux] } }
      |     ^^^^^^^^
      |
      = help: put the axes directly under `matrix:`, without `strategy`

    error[E041]: unknown key `timeout-minutes` in a step
     --> windlass.yml:7:5
      |
    7 |     timeout-minutes: 15
      |     ^^^^^^^^^^^^^^^ windlass calls it `timeout`
      |
      = help: `timeout`: Maximum duration of one attempt
      |
      = write:
    7 |     timeout: 15m

    error[E101]: `if` is already an expression: remove `${{` and `}}`
     --> windlass.yml:8:9
      |
    8 |     if: ${{ github.ref == 'refs/heads/main' && success() }}
      |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = write:
    8 |     if: github.ref == 'refs/heads/main' && success()

    error[E101]: `&&` has no meaning in an expression
     --> windlass.yml:8:45
      |
    8 |     if: ${{ github.ref == 'refs/heads/main' && success() }}
      |                                             ^^
      |
      = help: write `and`
      |
      = write:
    8 |     if: ${{ github.ref == 'refs/heads/main' and success() }}

    error[E041]: unknown key `steps` in a step
     --> windlass.yml:9:5
      |
    9 |     steps:
      |     ^^^^^
      |
      = help: steps cannot be nested: put the commands under `run: |`, or make each a step with `needs`
    "#);
}

#[test]
fn gitlab_pipeline_is_explained() {
    let text = "\
stages: [build]
variables: { A: b }
build:
  stage: build
  script: [make]
";
    assert_snapshot!(listed(text), @r#"
    windlass.yml:1:1: error[E041]: unknown key `stages` in a pipeline
    windlass.yml:2:1: error[E041]: unknown key `variables` in a pipeline
    windlass.yml:3:1: error[E041]: unknown key `build` in a pipeline
    "#);
    let step = "\
steps:
  build:
    stage: build
    before_script: [make deps]
    script:
      - make build
      - make install
    allow_failure: true
  test: { dependencies: [biuld], script: make test }
";
    assert_snapshot!(diagnosis(step), @r#"
    error[E041]: unknown key `stage` in a step
     --> windlass.yml:3:5
      |
    3 |     stage: build
      |     ^^^^^
      |
      = help: windlass has no stages: list the `needs` of the step

    error[E041]: unknown key `before_script` in a step
     --> windlass.yml:4:5
      |
    4 |     before_script: [make deps]
      |     ^^^^^^^^^^^^^
      |
      = help: put these commands into `run: |`, before or after the others

    error[E041]: unknown key `script` in a step
     --> windlass.yml:5:5
      |
    5 |     script:
      |     ^^^^^^ windlass calls it `run`
      |
      = help: `run`: Command or script to execute
      |
      = write:
    5 |     run: |
    6 |       make build
    7 |       make install

    error[E041]: unknown key `allow_failure` in a step
     --> windlass.yml:8:5
      |
    8 |     allow_failure: true
      |     ^^^^^^^^^^^^^ windlass calls it `ignore_failure`
      |
      = help: `ignore_failure`: If true, the run can succeed even if the step fails
      |
      = write:
    8 |     ignore_failure: true

    error[E041]: unknown key `dependencies` in a step
     --> windlass.yml:9:11
      |
    9 |   test: { dependencies: [biuld], script: make test }
      |           ^^^^^^^^^^^^ windlass calls it `needs`
      |
      = help: `needs`: Steps that must have ended before this one starts
      |
      = write:
    9 |   test: { needs: [biuld], script: make test }

    error[E041]: unknown key `script` in a step
     --> windlass.yml:9:34
      |
    9 |   test: { dependencies: [biuld], script: make test }
      |                                  ^^^^^^ windlass calls it `run`
      |
      = help: `run`: Command or script to execute
      |
      = write:
    9 |   test: { dependencies: [biuld], run: make test }
    "#);
}

#[test]
fn taskfile_is_explained() {
    let text = "\
version: '3'
tasks:
  hello:
    desc: Say hi
    cmds: [echo hi, echo there]
  build:
    deps: [helo]
    cmds: [make]
";
    assert_snapshot!(diagnosis(text), @r#"
    error[E041]: unknown key `version` in a pipeline
     --> windlass.yml:1:1
      |
    1 | version: '3'
      | ^^^^^^^
      |
      = help: remove it: the file needs no version

    error[E041]: unknown key `tasks` in a pipeline
     --> windlass.yml:2:1
      |
    2 | tasks:
      | ^^^^^ windlass calls it `steps`
      |
      = help: `steps`: Steps of the pipeline, by name
      |
      = write:
    2 | steps:

    error[E041]: unknown key `desc` in a step
     --> windlass.yml:4:5
      |
    4 |     desc: Say hi
      |     ^^^^ windlass calls it `about`
      |
      = help: `about`: Description of the step in one line, shown in plan and summary
      |
      = write:
    4 |     about: Say hi

    error[E041]: unknown key `cmds` in a step
     --> windlass.yml:5:5
      |
    5 |     cmds: [echo hi, echo there]
      |     ^^^^ windlass calls it `run`
      |
      = help: `run`: Command or script to execute
      |
      = write:
    5 |     run: |
    6 |       echo hi
    7 |       echo there

    error[E041]: unknown key `deps` in a step
     --> windlass.yml:7:5
      |
    7 |     deps: [helo]
      |     ^^^^ windlass calls it `needs`
      |
      = help: `needs`: Steps that must have ended before this one starts
      |
      = write:
    7 |     needs: [helo]

    error[E041]: unknown key `cmds` in a step
     --> windlass.yml:8:5
      |
    8 |     cmds: [make]
      |     ^^^^ windlass calls it `run`
      |
      = help: `run`: Command or script to execute
      |
      = write:
    8 |     run: |
    9 |       make
    "#);
    assert_snapshot!(diagnosis("steps:\n  build: go build\n  test:\n    - go test\n"), @r#"
    error[E042]: a step is a map, but this is a string
     --> windlass.yml:2:10
      |
    2 |   build: go build
      |          ^^^^^^^^
      |
      = help: write `{ run: 'go build' }`

    error[E042]: a step is a map, but this is a list
     --> windlass.yml:4:5
      |
    4 |     - go test
      |     ^^^^^^^^^
      |
      = help: write each command on its own line after `run: |`
    "#);
}

#[test]
fn makefile_is_explained() {
    assert_snapshot!(listed("all: build\n\nbuild:\n\tgo build\n\ntest: build\n\tgo test\n"), @r#"
    windlass.yml:4:1: error[E011]: YAML is indented with spaces, but this is a tab
    windlass.yml:7:1: error[E011]: YAML is indented with spaces, but this is a tab
    windlass.yml:7:2: error[E003]: missing `:` after a key
    "#);
}

#[test]
fn braces_of_other_tools_are_explained() {
    let text = "\
params: { name: world }
steps:
  a: { run: \"echo {{ params.name }} ${params.name} {{.Name}} ${name}\" }
  b:
    env: { A: \"{{ matrix.os }}\" }
    run: echo '{{ not ours }}' ${{ params.name }}
";
    assert_snapshot!(diagnosis(text), @r#"
    error[E033]: `{{ params.name }}` is not replaced by a value
     --> windlass.yml:3:19
      |
    3 |   a: { run: "echo {{ params.name }} ${params.name} {{.Name}} ${name}" }
      |                   ^^^^^^^^^^^^^^^^^ stays unchanged in the string
      |
      = help: write `${{ params.name }}`
      |
      = write:
    3 |   a: { run: "echo ${{ params.name }} ${params.name} {{.Name}} ${name}" }

    error[E033]: `${params.name}` is not replaced by a value
     --> windlass.yml:3:37
      |
    3 |   a: { run: "echo {{ params.name }} ${params.name} {{.Name}} ${name}" }
      |                                     ^^^^^^^^^^^^^^ stays unchanged in the string
      |
      = help: write `${{ params.name }}`
      |
      = write:
    3 |   a: { run: "echo {{ params.name }} ${{ params.name }} {{.Name}} ${name}" }

    error[E033]: `{{ matrix.os }}` is not replaced by a value
     --> windlass.yml:5:16
      |
    5 |     env: { A: "{{ matrix.os }}" }
      |                ^^^^^^^^^^^^^^^ stays unchanged in the string
      |
      = help: write `${{ matrix.os }}`
      |
      = write:
    5 |     env: { A: "${{ matrix.os }}" }
    "#);
}

#[test]
fn joined_lines_are_explained() {
    let text = "\
steps:
  a:
    run:
      make
      make test
  b:
    run: cargo test
      --workspace
  c:
    run: make &&
      make test
  d:
    run: >
      echo one
      two
";
    assert_snapshot!(diagnosis(text), @r#"
    error[E032]: YAML joins these lines into one
     --> windlass.yml:4:7
      |
    4 |       make
      |       ^^^^ the command is `make make test`
      |
      = help: write `run: |` for one command per line, or `run: >` for one long command
      |
      = write:
    3 |     run: |
    4 |       make
    5 |       make test
    "#);
}

#[test]
fn list_of_names_and_values_is_explained() {
    let text = "\
params: [{ name: env, default: x }, { type: int }]
steps:
  a: { run: make, env: [A=b], outputs: { v: 1 }, lock: true }
  b: { run: make, lock: { name: x, slots: 2 }, matrix: { n: [1], fail-fast: false } }
";
    assert_snapshot!(diagnosis(text), @r#"
    error[E042]: `params` takes a map, but this is a list
     --> windlass.yml:1:9
      |
    1 | params: [{ name: env, default: x }, { type: int }]
      |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: write params by name: `params: { env: { default: … } }`

    error[E042]: `env` takes a map, but this is a list
     --> windlass.yml:3:24
      |
    3 |   a: { run: make, env: [A=b], outputs: { v: 1 }, lock: true }
      |                        ^^^^^
      |
      = help: write variables by name: `env: { A: b }`

    error[E042]: `outputs` takes a name or a list of them, but this is a map
     --> windlass.yml:3:40
      |
    3 |   a: { run: make, env: [A=b], outputs: { v: 1 }, lock: true }
      |                                        ^^^^^^^^
      |
      = help: list the names: `outputs: [v]`

    error[E042]: `lock` takes a name, but this is a boolean
     --> windlass.yml:3:56
      |
    3 |   a: { run: make, env: [A=b], outputs: { v: 1 }, lock: true }
      |                                                        ^^^^
      |
      = help: name a lock; steps with the same lock run one at a time: `lock: production`

    error[E041]: unknown key `slots` in a lock
     --> windlass.yml:4:36
      |
    4 |   b: { run: make, lock: { name: x, slots: 2 }, matrix: { n: [1], fail-fast: false } }
      |                                    ^^^^^
      |
      = help: set the slots of a lock at the top of the file: `locks: { NAME: 2 }`

    error[E041]: unknown key `fail-fast` in a matrix
     --> windlass.yml:4:66
      |
    4 |   b: { run: make, lock: { name: x, slots: 2 }, matrix: { n: [1], fail-fast: false } }
      |                                                                  ^^^^^^^^^
      |
      = help: a run stops at its first failure; use `--keep-going` to continue
    "#);
    assert_snapshot!(listed("params: { a: { type: int, default: 1 }, b: { type: choice } }\nsteps: { a: { run: make } }"), @r#"
    windlass.yml:1:22: error[E045]: `type` takes `string` or `number` or `boolean`, but this is `int`
    windlass.yml:1:52: error[E045]: `type` takes `string` or `number` or `boolean`, but this is `choice`
    "#);
}

#[test]
fn every_value_of_a_script_is_checked() {
    let text = "\
steps:
  b: { run: make, outputs: [x] }
  c:
    needs: b
    env: { A: \"${{ 1 + 1 }} ${{ params.x }} ${{ a.b == }}\" }
    run: |
      echo '${{ steps.b.outputs.x }}' ${{ steps.b.output.x }}
      echo ${{ upper(steps.b.outputs.x) }} ${{ é }} ${{ steps.b.outputs.y }}
      echo ${{ open
";
    assert_snapshot!(listed(text), @r#"
    windlass.yml:5:22: error[E101]: `+` has no meaning in an expression
    windlass.yml:5:33: error[E082]: there is no param `x`
    windlass.yml:5:55: error[E101]: a value is missing at the end of the expression
    windlass.yml:7:13: error[E102]: sh does not expand variables between single quotes
    windlass.yml:8:16: error[E101]: there is no function `upper()`
    windlass.yml:8:48: error[E101]: `é` has no meaning in an expression
    windlass.yml:9:12: error[E101]: `${{` has no `}}`
    "#);
}

#[test]
fn positions_after_a_correction_are_right() {
    let text = "steps:\n  a: { run: echo ${{ params.x }} ${{ params.y }}, nedds: b }\n";
    assert_snapshot!(listed(text), @r#"
    windlass.yml:2:13: error[E026]: quote `${{ }}` between braces or brackets
    windlass.yml:2:22: error[E026]: quote `${{ }}` between braces or brackets
    "#);
}
