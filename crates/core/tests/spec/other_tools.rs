//! What somebody types who knows another tool: told in its words, with what to write here, all at once.

use insta::assert_snapshot;

use crate::outline::{listed, told};

#[test]
fn a_github_workflow() {
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
    assert_snapshot!(told(text), @r#"
    error[E041]: `on` is no key of a pipeline
     --> windlass.yml:2:1
      |
    2 | on: [push]
      | ^^
      |
      = help: a run begins when `windlass run` is called: let cron, a hook or a CI service do that

    error[E041]: `jobs` is no key of a pipeline
     --> windlass.yml:3:1
      |
    3 | jobs:
      | ^^^^ it is called `steps` here
      |
      = help: `steps`: What is to be done, by name
      |
      = write:
    3 | steps:

    error[E041]: `runs-on` is no key of a step
     --> windlass.yml:5:5
      |
    5 |     runs-on: ubuntu-latest
      |     ^^^^^^^
      |
      = help: it is called `requires` here, and takes labels of machines, such as `linux` or `cpu>=4`; `windlass doctor` lists this one's

    error[E041]: `strategy` is no key of a step
     --> windlass.yml:6:5
      |
    6 |     strategy: { matrix: { os: [linux] } }
      |     ^^^^^^^^
      |
      = help: put the axes right below `matrix:`, without a `strategy` around it

    error[E041]: `timeout-minutes` is no key of a step
     --> windlass.yml:7:5
      |
    7 |     timeout-minutes: 15
      |     ^^^^^^^^^^^^^^^ it is called `timeout` here
      |
      = help: `timeout`: The longest that one attempt may run
      |
      = write:
    7 |     timeout: 15m

    error[E101]: `if` is an expression already, without `${{` and `}}`
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

    error[E041]: `steps` is no key of a step
     --> windlass.yml:9:5
      |
    9 |     steps:
      |     ^^^^^
      |
      = help: a step has no steps: put its commands behind `run: |`, or make each a step with `needs`
    "#);
}

#[test]
fn a_gitlab_pipeline() {
    let text = "\
stages: [build]
variables: { A: b }
build:
  stage: build
  script: [make]
";
    assert_snapshot!(listed(text), @r#"
    windlass.yml:1:1: error[E041]: `stages` is no key of a pipeline
    windlass.yml:2:1: error[E041]: `variables` is no key of a pipeline
    windlass.yml:3:1: error[E041]: `build` is no key of a pipeline
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
    assert_snapshot!(told(step), @r#"
    error[E041]: `stage` is no key of a step
     --> windlass.yml:3:5
      |
    3 |     stage: build
      |     ^^^^^
      |
      = help: there are no stages: a step says what it `needs`

    error[E041]: `before_script` is no key of a step
     --> windlass.yml:4:5
      |
    4 |     before_script: [make deps]
      |     ^^^^^^^^^^^^^
      |
      = help: put these commands into `run: |`, before or behind the others

    error[E041]: `script` is no key of a step
     --> windlass.yml:5:5
      |
    5 |     script:
      |     ^^^^^^ it is called `run` here
      |
      = help: `run`: The command
      |
      = write:
    5 |     run: |
    6 |       make build
    7 |       make install

    error[E041]: `allow_failure` is no key of a step
     --> windlass.yml:8:5
      |
    8 |     allow_failure: true
      |     ^^^^^^^^^^^^^ it is called `ignore_failure` here
      |
      = help: `ignore_failure`: Whether its failure leaves the run as it is
      |
      = write:
    8 |     ignore_failure: true

    error[E041]: `dependencies` is no key of a step
     --> windlass.yml:9:11
      |
    9 |   test: { dependencies: [biuld], script: make test }
      |           ^^^^^^^^^^^^ it is called `needs` here
      |
      = help: `needs`: Steps that must have ended well before it begins
      |
      = write:
    9 |   test: { needs: [biuld], script: make test }

    error[E041]: `script` is no key of a step
     --> windlass.yml:9:34
      |
    9 |   test: { dependencies: [biuld], script: make test }
      |                                  ^^^^^^ it is called `run` here
      |
      = help: `run`: The command
      |
      = write:
    9 |   test: { dependencies: [biuld], run: make test }
    "#);
}

#[test]
fn a_taskfile() {
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
    assert_snapshot!(told(text), @r#"
    error[E041]: `version` is no key of a pipeline
     --> windlass.yml:1:1
      |
    1 | version: '3'
      | ^^^^^^^
      |
      = help: leave it out: the file needs no version

    error[E041]: `tasks` is no key of a pipeline
     --> windlass.yml:2:1
      |
    2 | tasks:
      | ^^^^^ it is called `steps` here
      |
      = help: `steps`: What is to be done, by name
      |
      = write:
    2 | steps:

    error[E041]: `desc` is no key of a step
     --> windlass.yml:4:5
      |
    4 |     desc: Say hi
      |     ^^^^ it is called `about` here
      |
      = help: `about`: One line on what it does, shown in plan and summary
      |
      = write:
    4 |     about: Say hi

    error[E041]: `cmds` is no key of a step
     --> windlass.yml:5:5
      |
    5 |     cmds: [echo hi, echo there]
      |     ^^^^ it is called `run` here
      |
      = help: `run`: The command
      |
      = write:
    5 |     run: |
    6 |       echo hi
    7 |       echo there

    error[E041]: `deps` is no key of a step
     --> windlass.yml:7:5
      |
    7 |     deps: [helo]
      |     ^^^^ it is called `needs` here
      |
      = help: `needs`: Steps that must have ended well before it begins
      |
      = write:
    7 |     needs: [helo]

    error[E041]: `cmds` is no key of a step
     --> windlass.yml:8:5
      |
    8 |     cmds: [make]
      |     ^^^^ it is called `run` here
      |
      = help: `run`: The command
      |
      = write:
    8 |     run: |
    9 |       make
    "#);
    assert_snapshot!(told("steps:\n  build: go build\n  test:\n    - go test\n"), @r#"
    error[E042]: a step is a map of keys, and this is a text
     --> windlass.yml:2:10
      |
    2 |   build: go build
      |          ^^^^^^^^
      |
      = help: write `{ run: 'go build' }`

    error[E042]: a step is a map of keys, and this is a list
     --> windlass.yml:4:5
      |
    4 |     - go test
      |     ^^^^^^^^^
      |
      = help: write the commands on lines of their own behind `run: |`
    "#);
}

#[test]
fn a_makefile() {
    assert_snapshot!(listed("all: build\n\nbuild:\n\tgo build\n\ntest: build\n\tgo test\n"), @r#"
    windlass.yml:4:1: error[E011]: YAML is indented with blanks, and this is a tab
    windlass.yml:7:1: error[E011]: YAML is indented with blanks, and this is a tab
    windlass.yml:7:2: error[E003]: a key without `:`
    "#);
}

#[test]
fn values_in_the_braces_of_others() {
    let text = "\
params: { name: world }
steps:
  a: { run: \"echo {{ params.name }} ${params.name} {{.Name}} ${name}\" }
  b:
    env: { A: \"{{ matrix.os }}\" }
    run: echo '{{ not ours }}' ${{ params.name }}
";
    assert_snapshot!(told(text), @r#"
    error[E033]: `{{ params.name }}` is no value
     --> windlass.yml:3:19
      |
    3 |   a: { run: "echo {{ params.name }} ${params.name} {{.Name}} ${name}" }
      |                   ^^^^^^^^^^^^^^^^^ it stays as it is
      |
      = help: a value is written `${{ params.name }}`
      |
      = write:
    3 |   a: { run: "echo ${{ params.name }} ${params.name} {{.Name}} ${name}" }

    error[E033]: `${params.name}` is no value
     --> windlass.yml:3:37
      |
    3 |   a: { run: "echo {{ params.name }} ${params.name} {{.Name}} ${name}" }
      |                                     ^^^^^^^^^^^^^^ it stays as it is
      |
      = help: a value is written `${{ params.name }}`
      |
      = write:
    3 |   a: { run: "echo {{ params.name }} ${{ params.name }} {{.Name}} ${name}" }

    error[E033]: `{{ matrix.os }}` is no value
     --> windlass.yml:5:16
      |
    5 |     env: { A: "{{ matrix.os }}" }
      |                ^^^^^^^^^^^^^^^ it stays as it is
      |
      = help: a value is written `${{ matrix.os }}`
      |
      = write:
    5 |     env: { A: "${{ matrix.os }}" }
    "#);
}

#[test]
fn lines_that_are_joined() {
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
    assert_snapshot!(told(text), @r#"
    error[E032]: YAML makes one line of these
     --> windlass.yml:4:7
      |
    4 |       make
      |       ^^^^ the command is `make make test`
      |
      = help: for a command on each line write `run: |`; for one long command, `run: >`
      |
      = write:
    3 |     run: |
    4 |       make
    5 |       make test
    "#);
}

#[test]
fn names_and_values_as_a_list() {
    let text = "\
params: [{ name: env, default: x }, { type: int }]
steps:
  a: { run: make, env: [A=b], outputs: { v: 1 }, lock: true }
  b: { run: make, lock: { name: x, slots: 2 }, matrix: { n: [1], fail-fast: false } }
";
    assert_snapshot!(told(text), @r#"
    error[E042]: `params` takes a map, and this is a list
     --> windlass.yml:1:9
      |
    1 | params: [{ name: env, default: x }, { type: int }]
      |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: each param has a name: `params: { env: { default: … } }`

    error[E042]: `env` takes a map, and this is a list
     --> windlass.yml:3:24
      |
    3 |   a: { run: make, env: [A=b], outputs: { v: 1 }, lock: true }
      |                        ^^^^^
      |
      = help: write names and values: `env: { A: b }`

    error[E042]: `outputs` takes a name or a list of them, and this is a map
     --> windlass.yml:3:40
      |
    3 |   a: { run: make, env: [A=b], outputs: { v: 1 }, lock: true }
      |                                        ^^^^^^^^
      |
      = help: list the names: `outputs: [v]`

    error[E042]: `lock` takes a name, and this is true or false
     --> windlass.yml:3:56
      |
    3 |   a: { run: make, env: [A=b], outputs: { v: 1 }, lock: true }
      |                                                        ^^^^
      |
      = help: steps that name the same lock run one at a time: `lock: production`

    error[E041]: `slots` is no key of a lock
     --> windlass.yml:4:36
      |
    4 |   b: { run: make, lock: { name: x, slots: 2 }, matrix: { n: [1], fail-fast: false } }
      |                                    ^^^^^
      |
      = help: the slots of a lock stand at the top of the file: `locks: { NAME: 2 }`

    error[E041]: `fail-fast` is no key of a matrix
     --> windlass.yml:4:66
      |
    4 |   b: { run: make, lock: { name: x, slots: 2 }, matrix: { n: [1], fail-fast: false } }
      |                                                                  ^^^^^^^^^
      |
      = help: a run ends at its first failure unless it is called with `--keep-going`
    "#);
    assert_snapshot!(listed("params: { a: { type: int, default: 1 }, b: { type: choice } }\nsteps: { a: { run: make } }"), @r#"
    windlass.yml:1:22: error[E045]: `type` takes `string` or `number` or `boolean`, and this is `int`
    windlass.yml:1:52: error[E045]: `type` takes `string` or `number` or `boolean`, and this is `choice`
    "#);
}

#[test]
fn every_value_of_a_script_is_looked_at() {
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
    windlass.yml:7:13: error[E102]: sh does not look for values between single quotes
    windlass.yml:8:16: error[E101]: there is no function `upper()`
    windlass.yml:8:48: error[E101]: `é` has no meaning in an expression
    windlass.yml:9:12: error[E101]: `${{` has no `}}`
    "#);
}

#[test]
fn places_behind_a_correction_stay_true() {
    let text = "steps:\n  a: { run: echo ${{ params.x }} ${{ params.y }}, nedds: b }\n";
    assert_snapshot!(listed(text), @r#"
    windlass.yml:2:13: error[E026]: `${{ }}` between braces or brackets must be quoted
    windlass.yml:2:22: error[E026]: `${{ }}` between braces or brackets must be quoted
    "#);
}
