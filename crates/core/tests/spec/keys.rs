//! Invalid keys and values.

use insta::assert_snapshot;

use crate::outline::{diagnosis, listed};

#[test]
fn keys_of_other_tools_are_known() {
    let text = "\
jobs: {}
steps:
  a: { run: x }
  b:
    depends_on: a
    runs-on: [docker]
    concurrency: prod
    script: make
    timeout-minutes: 15
    working-directory: src
    continue-on-error: true
";
    assert_snapshot!(diagnosis(text), @r#"
    error[E041]: unknown key `jobs` in a pipeline
     --> windlass.yml:1:1
      |
    1 | jobs: {}
      | ^^^^ windlass calls it `steps`
      |
      = help: `steps`: Steps of the pipeline, by name
      |
      = write:
    1 | steps: {}

    error[E041]: unknown key `depends_on` in a step
     --> windlass.yml:5:5
      |
    5 |     depends_on: a
      |     ^^^^^^^^^^ windlass calls it `needs`
      |
      = help: `needs`: Steps that must have ended before this one starts
      |
      = write:
    5 |     needs: a

    error[E041]: unknown key `runs-on` in a step
     --> windlass.yml:6:5
      |
    6 |     runs-on: [docker]
      |     ^^^^^^^
      |
      = help: windlass calls it `requires`; it takes labels of workers, such as `linux` or `cpu>=4`; `windlass doctor` lists the labels of this machine

    error[E041]: unknown key `concurrency` in a step
     --> windlass.yml:7:5
      |
    7 |     concurrency: prod
      |     ^^^^^^^^^^^ windlass calls it `lock`
      |
      = help: `lock`: Locks that the step holds while it runs
      |
      = write:
    7 |     lock: prod

    error[E041]: unknown key `script` in a step
     --> windlass.yml:8:5
      |
    8 |     script: make
      |     ^^^^^^ windlass calls it `run`
      |
      = help: `run`: Command or script to execute
      |
      = write:
    8 |     run: make

    error[E041]: unknown key `timeout-minutes` in a step
     --> windlass.yml:9:5
      |
    9 |     timeout-minutes: 15
      |     ^^^^^^^^^^^^^^^ windlass calls it `timeout`
      |
      = help: `timeout`: Maximum duration of one attempt
      |
      = write:
    9 |     timeout: 15m

    error[E041]: unknown key `working-directory` in a step
      --> windlass.yml:10:5
       |
    10 |     working-directory: src
       |     ^^^^^^^^^^^^^^^^^ windlass calls it `dir`
       |
       = help: `dir`: Working directory, relative to the root of the pipeline
       |
       = write:
    10 |     dir: src

    error[E041]: unknown key `continue-on-error` in a step
      --> windlass.yml:11:5
       |
    11 |     continue-on-error: true
       |     ^^^^^^^^^^^^^^^^^ windlass calls it `ignore_failure`
       |
       = help: `ignore_failure`: If true, the run can succeed even if the step fails
       |
       = write:
    11 |     ignore_failure: true
    "#);
}

#[test]
fn misspelled_keys_get_a_suggestion() {
    assert_snapshot!(diagnosis("steps:\n  a: { runn: x }\n  b: { run: x, Timeout: 3m, priorty: 1, retry: { tmes: 1 } }\n"), @r#"
    error[E041]: unknown key `runn` in a step
     --> windlass.yml:2:8
      |
    2 |   a: { runn: x }
      |        ^^^^ did you mean `run`?
      |
      = write:
    2 |   a: { run: x }

    error[E041]: unknown key `Timeout` in a step
     --> windlass.yml:3:16
      |
    3 |   b: { run: x, Timeout: 3m, priorty: 1, retry: { tmes: 1 } }
      |                ^^^^^^^ windlass calls it `timeout`
      |
      = help: `timeout`: Maximum duration of one attempt
      |
      = write:
    3 |   b: { run: x, timeout: 3m, priorty: 1, retry: { tmes: 1 } }

    error[E041]: unknown key `priorty` in a step
     --> windlass.yml:3:29
      |
    3 |   b: { run: x, Timeout: 3m, priorty: 1, retry: { tmes: 1 } }
      |                             ^^^^^^^ did you mean `priority`?
      |
      = write:
    3 |   b: { run: x, Timeout: 3m, priority: 1, retry: { tmes: 1 } }

    error[E041]: unknown key `tmes` in a retry
     --> windlass.yml:3:50
      |
    3 |   b: { run: x, Timeout: 3m, priorty: 1, retry: { tmes: 1 } }
      |                                                  ^^^^ did you mean `times`?
      |
      = write:
    3 |   b: { run: x, Timeout: 3m, priorty: 1, retry: { times: 1 } }
    "#);
}

#[test]
fn misplaced_keys_are_reported_with_their_place() {
    assert_snapshot!(diagnosis("run: x\ndefaults: { run: x }\nsteps:\n  a: { run: x, params: {}, colour: red }\n"), @r#"
    error[E041]: unknown key `run` in a pipeline
     --> windlass.yml:1:1
      |
    1 | run: x
      | ^^^
      |
      = help: `run` belongs into a step, under `steps:`

    error[E041]: unknown key `run` in `defaults`
     --> windlass.yml:2:13
      |
    2 | defaults: { run: x }
      |             ^^^
      |
      = help: `run` cannot have a default: write it in the step

    error[E041]: unknown key `params` in a step
     --> windlass.yml:4:16
      |
    4 |   a: { run: x, params: {}, colour: red }
      |                ^^^^^^
      |
      = help: `params` belongs at the top of the file

    error[E041]: unknown key `colour` in a step
     --> windlass.yml:4:28
      |
    4 |   a: { run: x, params: {}, colour: red }
      |                            ^^^^^^
      |
      = help: `windlass schema` lists all keys; keys that begin with `x-` are free for your own use
    "#);
}

#[test]
fn values_of_the_wrong_type_are_reported() {
    let text = "\
name: [a]
env: x
params: [a]
locks: { a: many }
steps:
  a: make
  b: { run: [make, test], needs: { a: b }, tags: { x: y } }
  c:
  d: { run: x, ignore_failure: yes, elsewhere: 1 }
  e: { run: x, retry: often, priority: 1.5, per_worker: 0, pin: master }
  f: { run: x, matrix: linux }
  g: { run: x, env: { A: [1], B: } }
  h: { run: x, nodes: [a], if: [a] }
  i: { run: x, shell: , dir: {} }
";
    assert_snapshot!(diagnosis(text), @r#"
    error[E042]: `name` takes a string, but this is a list
     --> windlass.yml:1:7
      |
    1 | name: [a]
      |       ^^^

    error[E042]: `env` takes a map, but this is a string
     --> windlass.yml:2:6
      |
    2 | env: x
      |      ^

    error[E042]: `params` takes a map, but this is a list
     --> windlass.yml:3:9
      |
    3 | params: [a]
      |         ^^^
      |
      = help: write params by name: `params: { a: { default: … } }`

    error[E047]: `a` takes a whole number from 1 to 1000000, but this is `many`
     --> windlass.yml:4:13
      |
    4 | locks: { a: many }
      |             ^^^^

    error[E042]: a step is a map, but this is a string
     --> windlass.yml:6:6
      |
    6 |   a: make
      |      ^^^^
      |
      = help: write `{ run: 'make' }`

    error[E042]: `run` takes a command, but this is a list
     --> windlass.yml:7:13
      |
    7 |   b: { run: [make, test], needs: { a: b }, tags: { x: y } }
      |             ^^^^^^^^^^^^
      |
      = help: write each command on its own line after `run: |`

    error[E044]: a need requires the key `step`
     --> windlass.yml:7:34
      |
    7 |   b: { run: [make, test], needs: { a: b }, tags: { x: y } }
      |                                  ^^^^^^^^

    error[E041]: unknown key `a` in a need
     --> windlass.yml:7:36
      |
    7 |   b: { run: [make, test], needs: { a: b }, tags: { x: y } }
      |                                    ^
      |
      = help: the keys are `step`, `optional`; keys that begin with `x-` are free for your own use

    error[E042]: `tags` takes a name or a list of them, but this is a map
     --> windlass.yml:7:50
      |
    7 |   b: { run: [make, test], needs: { a: b }, tags: { x: y } }
      |                                                  ^^^^^^^^
      |
      = help: list the names: `tags: [x]`

    error[E050]: the step `c` has no action
     --> windlass.yml:8:3
      |
    8 |   c:
      |   ^
      |
      = help: add `run:` with a command; a step that only waits for others is `call: noop`

    error[E042]: `ignore_failure` takes `true` or `false`, but this is `yes`
     --> windlass.yml:9:32
      |
    9 |   d: { run: x, ignore_failure: yes, elsewhere: 1 }
      |                                ^^^
      |
      = write:
    9 |   d: { run: x, ignore_failure: true, elsewhere: 1 }

    error[E041]: unknown key `elsewhere` in a step
     --> windlass.yml:9:37
      |
    9 |   d: { run: x, ignore_failure: yes, elsewhere: 1 }
      |                                     ^^^^^^^^^
      |
      = help: `elsewhere` belongs under `retry`: write `retry: { elsewhere: … }`

    error[E047]: `retry` takes a whole number from 0 to 10000, but this is `often`
      --> windlass.yml:10:23
       |
    10 |   e: { run: x, retry: often, priority: 1.5, per_worker: 0, pin: master }
       |                       ^^^^^

    error[E047]: `priority` takes a whole number from -1000000 to 1000000, but this is `1.5`
      --> windlass.yml:10:40
       |
    10 |   e: { run: x, retry: often, priority: 1.5, per_worker: 0, pin: master }
       |                                        ^^^

    error[E047]: `per_worker` takes a whole number from 1 to 1000000, but this is `0`
      --> windlass.yml:10:57
       |
    10 |   e: { run: x, retry: often, priority: 1.5, per_worker: 0, pin: master }
       |                                                         ^

    error[E045]: `pin` takes `leader`, but this is `master`
      --> windlass.yml:10:65
       |
    10 |   e: { run: x, retry: often, priority: 1.5, per_worker: 0, pin: master }
       |                                                                 ^^^^^^

    error[E042]: `matrix` takes a list of strings, but this is a string
      --> windlass.yml:11:24
       |
    11 |   f: { run: x, matrix: linux }
       |                        ^^^^^
       |
       = write:
    11 |   f: { run: x, matrix: [linux] }

    error[E042]: `A` takes a string, but this is a list
      --> windlass.yml:12:26
       |
    12 |   g: { run: x, env: { A: [1], B: } }
       |                          ^^^

    error[E052]: `B` has no value
      --> windlass.yml:12:32
       |
    12 |   g: { run: x, env: { A: [1], B: } }
       |                                ^
       |
       = help: write `""` for an empty string, or remove the key

    error[E042]: `nodes` is a map, but this is a list
      --> windlass.yml:13:23
       |
    13 |   h: { run: x, nodes: [a], if: [a] }
       |                       ^^^

    error[E042]: `if` takes an expression, but this is a list
      --> windlass.yml:13:32
       |
    13 |   h: { run: x, nodes: [a], if: [a] }
       |                                ^^^

    error[E052]: `shell` has no value
      --> windlass.yml:14:21
       |
    14 |   i: { run: x, shell: , dir: {} }
       |                     ^
       |
       = help: write `""` for an empty string, or remove the key

    error[E042]: `dir` takes a string, but this is a map
      --> windlass.yml:14:30
       |
    14 |   i: { run: x, shell: , dir: {} }
       |                              ^^
    "#);
}

#[test]
fn invalid_durations_are_reported() {
    let text = "\
timeout: 90
steps:
  a: { run: x, timeout: 15 min }
  b: { run: x, timeout: soon }
  c: { run: x, timeout: 99999d }
  d: { run: x, retry: { wait: 5 } }
  e: { run: x, retry: { wait: 1m..5s } }
  f: { run: x, retry: { wait: 5s..1m, on: [exit-101, timed_out, crashed] } }
  g: { run: x, kill_grace: 1.5 }
";
    assert_snapshot!(diagnosis(text), @r#"
    error[E029]: `timeout` needs a unit
     --> windlass.yml:1:10
      |
    1 | timeout: 90
      |          ^^ a number without a unit
      |
      = help: write a duration as `250ms`, `90s`, `15m`, `2h` or `1h30m`
      |
      = write:
    1 | timeout: 90m

    error[E046]: `15 min` is not a valid duration
     --> windlass.yml:3:25
      |
    3 |   a: { run: x, timeout: 15 min }
      |                         ^^^^^^
      |
      = help: write a duration as `250ms`, `90s`, `15m`, `2h` or `1h30m`
      |
      = write:
    3 |   a: { run: x, timeout: 15m }

    error[E046]: `soon` is not a valid duration
     --> windlass.yml:4:25
      |
    4 |   b: { run: x, timeout: soon }
      |                         ^^^^
      |
      = help: write a duration as `250ms`, `90s`, `15m`, `2h` or `1h30m`

    error[E046]: `99999d` is longer than ten years
     --> windlass.yml:5:25
      |
    5 |   c: { run: x, timeout: 99999d }
      |                         ^^^^^^
      |
      = help: remove the key for no limit

    error[E029]: `wait` needs a unit
     --> windlass.yml:6:31
      |
    6 |   d: { run: x, retry: { wait: 5 } }
      |                               ^ a number without a unit
      |
      = help: write a duration as `250ms`, `90s`, `15m`, `2h` or `1h30m`
      |
      = write:
    6 |   d: { run: x, retry: { wait: 5s } }

    error[E046]: `1m..5s` is not a valid range of waits
     --> windlass.yml:7:31
      |
    7 |   e: { run: x, retry: { wait: 1m..5s } }
      |                               ^^^^^^
      |
      = help: write the shortest wait first and the longest second, as in `5s..1m`

    error[E045]: `on` takes `failed`, `timed_out` or `exit-N`, but this is `crashed`
     --> windlass.yml:8:65
      |
    8 |   f: { run: x, retry: { wait: 5s..1m, on: [exit-101, timed_out, crashed] } }
      |                                                                 ^^^^^^^

    error[E029]: `kill_grace` needs a unit
     --> windlass.yml:9:28
      |
    9 |   g: { run: x, kill_grace: 1.5 }
      |                            ^^^ a number without a unit
      |
      = help: write a duration as `250ms`, `90s`, `15m`, `2h` or `1h30m`
      |
      = write:
    9 |   g: { run: x, kill_grace: 1s }
    "#);
}

#[test]
fn invalid_names_are_reported() {
    let text = "\
name: my pipeline
params: { in: 1, 9lives: 2 }
steps:
  unit tests: { run: x }
  not: { run: x }
  a: { run: x, outputs: [the version, v, v], secrets: [WINDLASS_TOKEN], env: { WINDLASS_X: y } }
";
    assert_snapshot!(diagnosis(text), @r#"
    error[E048]: `my pipeline` is not a valid name for a pipeline
     --> windlass.yml:1:7
      |
    1 | name: my pipeline
      |       ^^^^^^^^^^^
      |
      = help: names consist of letters, digits, `_` and `-`, and begin with a letter or `_`; use `about:` for a description
      |
      = write:
    1 | name: my-pipeline

    error[E049]: `in` is a keyword of the expression language
     --> windlass.yml:2:11
      |
    2 | params: { in: 1, 9lives: 2 }
      |           ^^
      |
      = help: choose another name: an expression could not refer to it

    error[E048]: `9lives` is not a valid name
     --> windlass.yml:2:18
      |
    2 | params: { in: 1, 9lives: 2 }
      |                  ^^^^^^
      |
      = help: names consist of letters, digits, `_` and `-`, and begin with a letter or `_`
      |
      = write:
    2 | params: { in: 1, _9lives: 2 }

    error[E048]: `unit tests` is not a valid name
     --> windlass.yml:4:3
      |
    4 |   unit tests: { run: x }
      |   ^^^^^^^^^^
      |
      = help: names consist of letters, digits, `_` and `-`, and begin with a letter or `_`
      |
      = write:
    4 |   unit-tests: { run: x }

    error[E049]: `not` is a keyword of the expression language
     --> windlass.yml:5:3
      |
    5 |   not: { run: x }
      |   ^^^
      |
      = help: choose another name: an expression could not refer to it

    error[E048]: `the version` is not a valid name
     --> windlass.yml:6:26
      |
    6 |   a: { run: x, outputs: [the version, v, v], secrets: [WINDLASS_TOKEN], env: { WINDLASS_X: y } }
      |                          ^^^^^^^^^^^
      |
      = help: names consist of letters, digits, `_` and `-`, and begin with a letter or `_`
      |
      = write:
    6 |   a: { run: x, outputs: [the-version, v, v], secrets: [WINDLASS_TOKEN], env: { WINDLASS_X: y } }

    error[E055]: the output `v` is listed twice
     --> windlass.yml:6:42
      |
    6 |   a: { run: x, outputs: [the version, v, v], secrets: [WINDLASS_TOKEN], env: { WINDLASS_X: y } }
      |                                          ^ second
      |                                       - first
      |
      = help: keep one of them

    error[E049]: `WINDLASS_TOKEN` is a setting of windlass and cannot be a secret
     --> windlass.yml:6:56
      |
    6 |   a: { run: x, outputs: [the version, v, v], secrets: [WINDLASS_TOKEN], env: { WINDLASS_X: y } }
      |                                                        ^^^^^^^^^^^^^^
      |
      = help: choose a name that does not begin with `WINDLASS_`

    error[E049]: `WINDLASS_X` is set by windlass
     --> windlass.yml:6:80
      |
    6 |   a: { run: x, outputs: [the version, v, v], secrets: [WINDLASS_TOKEN], env: { WINDLASS_X: y } }
      |                                                                                ^^^^^^^^^^
      |
      = help: choose a name that does not begin with `WINDLASS_`
    "#);
}

#[test]
fn step_has_exactly_one_action() {
    assert_snapshot!(diagnosis("steps:\n  a: { about: x }\n  b:\n  c: { run: x, call: noop }\n  d: { call: nop }\n  e: { run: '' }\n"), @r#"
    error[E050]: the step `a` has no action
     --> windlass.yml:2:3
      |
    2 |   a: { about: x }
      |   ^
      |
      = help: add `run:` with a command; a step that only waits for others is `call: noop`

    error[E050]: the step `b` has no action
     --> windlass.yml:3:3
      |
    3 |   b:
      |   ^
      |
      = help: add `run:` with a command; a step that only waits for others is `call: noop`

    error[E051]: a step has one action, but this one has both `run` and `call`
     --> windlass.yml:4:16
      |
    4 |   c: { run: x, call: noop }
      |                ^^^^
      |        --- first
      |
      = help: split it into two steps

    error[E054]: there is no built-in step `nop`
     --> windlass.yml:5:14
      |
    5 |   d: { call: nop }
      |              ^^^
      |
      = help: the only built-in step is `noop`; write a command as `run:`

    error[E052]: `run` is empty
     --> windlass.yml:6:13
      |
    6 |   e: { run: '' }
      |             ^^
    "#);
}

#[test]
fn maps_that_lack_a_key_are_reported() {
    assert_snapshot!(diagnosis("steps:\n  a: { run: x, lock: { order: fifo } }\n  b: { run: x, needs: { optional: true } }\n"), @r#"
    error[E044]: a lock requires the key `name`
     --> windlass.yml:2:22
      |
    2 |   a: { run: x, lock: { order: fifo } }
      |                      ^^^^^^^^^^^^^^^

    error[E044]: a need requires the key `step`
     --> windlass.yml:3:23
      |
    3 |   b: { run: x, needs: { optional: true } }
      |                       ^^^^^^^^^^^^^^^^^^
    "#);
}

#[test]
fn keys_that_begin_with_x_are_free() {
    assert_snapshot!(listed("x-owner: me\nsteps:\n  a: { run: x, x-note: [1, 2] }\n"), @"nothing is wrong");
}

#[test]
fn invalid_requirements_are_reported() {
    assert_snapshot!(diagnosis("steps:\n  a: { run: x, requires: ['cpu>=', 'mem>=8GB', 'a & b', ''] }\n  b: { run: x, requires: docker, }\n"), @r#"
    error[E103]: a fact can be compared only with a whole number
     --> windlass.yml:2:33
      |
    2 |   a: { run: x, requires: ['cpu>=', 'mem>=8GB', 'a & b', ''] }
      |                                 ^
      |
      = help: write cpu>=4

    error[E103]: write a size with KiB, MiB, GiB or TiB directly after the number
     --> windlass.yml:2:42
      |
    2 |   a: { run: x, requires: ['cpu>=', 'mem>=8GB', 'a & b', ''] }
      |                                          ^^^
      |
      = help: write mem>=8GiB

    error[E103]: write several requirements as a list
     --> windlass.yml:2:51
      |
    2 |   a: { run: x, requires: ['cpu>=', 'mem>=8GB', 'a & b', ''] }
      |                                                   ^
      |
      = help: write [a, b]

    error[E103]: missing label
     --> windlass.yml:2:58
      |
    2 |   a: { run: x, requires: ['cpu>=', 'mem>=8GB', 'a & b', ''] }
      |                                                          ^
      |
      = help: write docker, os=linux, cpu>=4, not spot or "gpu | tpu"
    "#);
}

#[test]
fn invalid_params_are_reported() {
    let text = "\
params:
  a: { choose: [x, y], default: z }
  b: { type: number, default: high }
  c: { type: date }
  d: { required: true, default: x }
  e: { default: '${{ params.a }}' }
steps:
  s: { run: x }
";
    assert_snapshot!(diagnosis(text), @r#"
    error[E123]: the default `z` is not one of the choices of `a`
     --> windlass.yml:2:33
      |
    2 |   a: { choose: [x, y], default: z }
      |                                 ^

    error[E124]: `high` is not a number, but the param `b` is one
     --> windlass.yml:3:31
      |
    3 |   b: { type: number, default: high }
      |                               ^^^^

    error[E045]: `type` takes `string` or `number` or `boolean`, but this is `date`
     --> windlass.yml:4:14
      |
    4 |   c: { type: date }
      |              ^^^^

    error[E053]: `d` is required and has a default
     --> windlass.yml:5:33
      |
    5 |   d: { required: true, default: x }
      |                                 ^
      |
      = help: a param with a default is optional: remove one of the two keys

    error[E087]: the value of a param cannot contain `${{ }}`
     --> windlass.yml:6:17
      |
    6 |   e: { default: '${{ params.a }}' }
      |                 ^^^^^^^^^^^^^^^^^
    "#);
}

#[test]
fn idempotency_key_is_no_boolean_and_no_default() {
    for word in ["true", "no", "\"\"", "./", "\"a\\nb\""] {
        let text = format!("steps:\n  a: {{ run: make, idempotent: {word} }}\n");
        assert!(diagnosis(&text).contains("key"), "{word}: {}", diagnosis(&text));
    }
    let text = "defaults: { idempotent: k }\nsteps: { a: { run: make } }\n";
    assert!(
        diagnosis(text).contains("error"),
        "one key for all steps would be done by one of them"
    );
    for late in ["${{ run.id }}", "${{ steps.b.outputs.x }}"] {
        let text = format!("steps:\n  a: {{ run: make, idempotent: \"{late}\" }}\n");
        assert!(diagnosis(&text).contains("error"), "{late}: {}", diagnosis(&text));
    }
}
