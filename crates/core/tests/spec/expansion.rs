//! From a pipeline to its plan.

use insta::assert_snapshot;
use serde_json::json;
use windlass_core::expand::StepWork;

use crate::outline::{drawn, drawn_with, plan};

#[test]
fn key_contains_known_values_and_reads_the_others_at_run_time() {
    let text = "
name: ship
params: { version: { default: \"1.2\" } }
steps:
  a: { run: make, outputs: [d] }
  b: { run: make, needs: a, idempotent: \"./${{ params.version }}-${{ steps.a.outputs.d }}\" }
  c:
    needs: a
    if: steps.a.outputs.d == \"x\"
    matrix: { db: [sqlite, postgres] }
    idempotent: \"${{ matrix.db }}-${{ params.version }}\"
    run: make
  d: { run: make, if: params.version == \"2\", idempotent: never }
";
    let plan = plan(text, &[]).expect("nothing is wrong with it").plan;
    let key = |name: &str| {
        let spec = plan.spec(plan.find(name).expect("a step")).expect("no join");
        spec.idempotency.as_ref().map(|it| (it.key.to_string(), spec.when.expression().is_some()))
    };
    assert_eq!(key("b"), Some(("ship/1.2-${{ steps.a.outputs.d }}".to_owned(), false)));
    assert_eq!(key("c[sqlite]"), Some(("sqlite-1.2".to_owned(), true)));
    assert_eq!(key("c[postgres]"), Some(("postgres-1.2".to_owned(), true)));
    assert_eq!(key("d"), None, "it is skipped anyway");
}

#[test]
fn preference_comes_from_the_step_or_the_defaults_and_may_differ_per_cell() {
    let text = "
defaults: { prefers: ssd }
steps:
  a: { run: make }
  b: { run: make, requires: linux, prefers: [cpu>=8, \"gpu | tpu\"] }
  c: { run: make, prefers: [] }
  d:
    matrix: { db: [sqlite, postgres] }
    prefers: \"has-${{ matrix.db }}\"
    run: make
";
    assert_snapshot!(drawn(text), @r#"
    a
        prefers ssd
        {"action":{"exec":{"argv":["make"]}}}
    b
        requires linux
        prefers cpu>=8
        prefers gpu | tpu
        {"action":{"exec":{"argv":["make"]}}}
    c
        {"action":{"exec":{"argv":["make"]}}}
    d[sqlite]
        prefers has-sqlite
        {"action":{"exec":{"argv":["make"]}},"axes":["db"]}
    d[postgres]
        prefers has-postgres
        {"action":{"exec":{"argv":["make"]}},"axes":["db"]}
    d <- d[sqlite] d[postgres]
    "#);
}

#[test]
fn a_list_makes_one_cell_per_target_and_requires_it() {
    assert_snapshot!(drawn("steps:\n  a: { run: make \"$1\" }\n  t: { needs: a, matrix: [linux, macos], run: make \"${{ matrix.target }}\" }\n  z: { needs: t, call: noop }\n"), @r#"
    error[E026]: quote `${{ }}` between braces or brackets
     --> windlass.yml:3:47
      |
    3 |   t: { needs: a, matrix: [linux, macos], run: make "${{ matrix.target }}" }
      |                                               ^^^^^^^^^^^^^^^^^^^^^^^^^^^ YAML reads these braces as maps
      |
      = write:
    3 |   t: { needs: a, matrix: [linux, macos], run: 'make "${{ matrix.target }}"' }
    "#);
}

#[test]
fn axes_multiply_exclude_removes_and_include_adds_cells() {
    let text = "\
steps:
  t:
    matrix:
      os: [linux, windows]
      db: [sqlite, 'a,b']
      exclude: { os: windows, db: 'a,b' }
      include:
        - { os: linux, fast: true }
        - { os: macos, db: sqlite, note: \"x=y\" }
      route: db
    run: make \"$1\"
";
    assert_snapshot!(drawn(text), @r#"
    t[linux,sqlite,fast=true]
        requires os=linux, db=sqlite
        {"action":{"script":{"text":"make \"$1\""}},"axes":["os","db"]}
    t[linux,"a,b",fast=true]
        requires os=linux, db=a,b
        {"action":{"script":{"text":"make \"$1\""}},"axes":["os","db"]}
    t[windows,sqlite]
        requires os=windows, db=sqlite
        {"action":{"script":{"text":"make \"$1\""}},"axes":["os","db"]}
    t[macos,sqlite,note="x=y"]
        requires os=macos, db=sqlite
        {"action":{"script":{"text":"make \"$1\""}},"axes":["os","db"]}
    t <- t[linux,sqlite,fast=true] t[linux,"a,b",fast=true] t[windows,sqlite] t[macos,sqlite,note="x=y"]
    "#);
}

#[test]
fn matrix_may_consist_of_includes_only() {
    assert_snapshot!(drawn("steps:\n  t:\n    matrix: { include: [{ a: 1, b: 2 }, { a: 3 }] }\n    run: make \"$1\"\n"), @r#"
    t[a=1,b=2]
        {"action":{"script":{"text":"make \"$1\""}}}
    t[a=3]
        {"action":{"script":{"text":"make \"$1\""}}}
    t <- t[a=1,b=2] t[a=3]
    "#);
}

#[test]
fn expressions_of_params_are_evaluated_and_others_remain() {
    let text = "\
params: { channel: beta, slots: 2, name: { default: 'it''s \"x\"' } }
env: { CHANNEL: \"${{ params.channel }}\", KEEP: pipeline }
locks: { farm: \"${{ params.slots }}\" }
defaults: { env: { KEEP: defaults, D: d }, timeout: 5m, shell: bash }
steps:
  a: { run: 'echo v=1 >> \"$WINDLASS_OUTPUT\"', outputs: [v] }
  b:
    needs: a
    matrix: { os: [linux, windows] }
    env: { KEEP: step, MIX: \"${{ params.channel }}-${{ matrix.os }}-${{ steps.a.outputs.v }}\" }
    dir: out/${{ matrix.os }}
    run: ./b.sh ${{ params.name }} ${{ steps.a.outputs.v }} \"${{ default(steps.a.outputs.v, params.channel) }}\"
    lock: dev-${{ matrix.os }}
    requires: [docker, \"os=${{ matrix.os }}\"]
";
    assert_snapshot!(drawn(text), @r#"
    a
        {"action":{"script":{"text":"echo v=1 >> \"$WINDLASS_OUTPUT\"","shell":"bash"}},"env":[["CHANNEL","beta"],["KEEP","defaults"],["D","d"]],"outputs":["v"]}
    b[linux] <- a
        requires docker, os=linux
        reads a
        {"action":{"script":{"text":"./b.sh \"${W1}\" \"${W2}\" \"${W3}\"","shell":"bash"}},"vars":[["W1","it's \"x\""],["W2","${{ steps.a.outputs.v }}"],["W3","${{ default(steps.a.outputs.v, \"beta\") }}"]],"env":[["CHANNEL","beta"],["KEEP","step"],["D","d"],["MIX","beta-${{ matrix.os }}-${{ steps.a.outputs.v }}"]],"dir":"out/${{ matrix.os }}","axes":["os"]}
    b[windows] <- a
        requires docker, os=windows
        reads a
        {"action":{"script":{"text":"./b.sh \"${W1}\" \"${W2}\" \"${W3}\"","shell":"bash"}},"vars":[["W1","it's \"x\""],["W2","${{ steps.a.outputs.v }}"],["W3","${{ default(steps.a.outputs.v, \"beta\") }}"]],"env":[["CHANNEL","beta"],["KEEP","step"],["D","d"],["MIX","beta-${{ matrix.os }}-${{ steps.a.outputs.v }}"]],"dir":"out/${{ matrix.os }}","axes":["os"]}
    b <- b[linux] b[windows]
    "#);
    let expanded = plan(text, &[("slots", "7")]).expect("it is sound");
    assert_eq!(expanded.plan.lock_slots("farm"), 7);
    let b = expanded.plan.spec(expanded.plan.find("b[windows]").expect("a cell")).expect("a step");
    assert_eq!(&*b.locks[0].name, "dev-windows");
}

#[test]
fn conditions_are_decided_at_plan_time_or_remain() {
    let text = "\
params: { channel: beta, dry: false, low: -1 }
steps:
  a: { run: make, outputs: [v] }
  now: { needs: a, run: make, if: params.channel == \"stable\" and not params.dry }
  holds: { needs: a, run: make, if: always() and params.channel == \"beta\" }
  later: { needs: a, run: make, if: steps.a.outputs.v == params.channel and params.low < 0 }
  cell: { needs: a, run: make, matrix: { os: [linux, windows] }, if: matrix.os == \"linux\" or steps.a.status == \"skipped\" }
  known: { run: make, matrix: { os: [linux, windows] }, if: matrix.os == \"linux\" }
";
    assert_snapshot!(drawn(text), @r#"
    a
        {"action":{"exec":{"argv":["make"]}},"outputs":["v"]}
    now <- a
        when Fails("params.channel == \"stable\" and not params.dry  (params.channel = \"beta\", params.dry = false)")
        {"action":{"exec":{"argv":["make"]}}}
    holds <- a
        {"action":{"exec":{"argv":["make"]}}}
    later <- a
        when Asks("steps.a.outputs.v == \"beta\" and \"-1\" < 0")
        reads a
        {"action":{"exec":{"argv":["make"]}}}
    cell[linux] <- a
        requires os=linux
        when Asks("\"linux\" == \"linux\" or steps.a.status == \"skipped\"")
        reads a
        {"action":{"exec":{"argv":["make"]}},"axes":["os"]}
    cell[windows] <- a
        requires os=windows
        when Asks("\"windows\" == \"linux\" or steps.a.status == \"skipped\"")
        reads a
        {"action":{"exec":{"argv":["make"]}},"axes":["os"]}
    cell <- cell[linux] cell[windows]
    known[linux]
        requires os=linux
        {"action":{"exec":{"argv":["make"]}},"axes":["os"]}
    known[windows]
        requires os=windows
        when Fails("matrix.os == \"linux\"  (matrix.os = \"windows\")")
        {"action":{"exec":{"argv":["make"]}},"axes":["os"]}
    known <- known[linux] known[windows]
    "#);
    assert_snapshot!(drawn_with(text, &[("channel", "a \"b\" 'c'")]), @r#"
    error[E104]: the value of `params.channel` cannot be inserted into a condition: it contains both kinds of quotes
     --> windlass.yml:6:37
      |
    6 |   later: { needs: a, run: make, if: steps.a.outputs.v == params.channel and params.low < 0 }
      |                                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: pass it to the step as a variable and test it in the script
    "#);
}

#[test]
fn worker_renders_the_work_of_its_cell() {
    let text = "\
params: { channel: beta }
steps:
  a: { run: make, outputs: [v] }
  b:
    needs: a
    matrix: { on: [linux, 'win, 11'], include: { on: linux, fast: yes } }
    env: { MIX: \"${{ default(steps.a.outputs.v, params.channel) }}/${{ matrix.on }}/${{ run.id }}\" }
    run: make ${{ default(matrix.fast, \"no\") }}
";
    let expanded = plan(text, &[]).expect("it is sound");
    let rendered = |name: &str, steps: serde_json::Value| {
        let node = expanded.plan.find(name).expect("it is a step");
        let work = StepWork::parse(&expanded.plan.work(node)).expect("it is work");
        let scope = work.scope(name, steps, json!({ "id": "r1" }));
        let values: Vec<String> =
            work.templates().map(|t| t.render(&scope).expect("all is known")).collect();
        values.join(" ")
    };
    let done = json!({ "a": { "outputs": { "v": "1.2" } } });
    assert_eq!(rendered("b[linux,fast=yes]", done), "yes 1.2/linux/r1");
    assert_eq!(
        rendered("b[\"win, 11\"]", json!({ "a": { "outputs": null } })),
        "no beta/win, 11/r1"
    );
}

#[test]
fn optional_needs_and_selection_keywords_are_expanded() {
    let text = "defaults: { tags: ci }\nsteps:\n  a: { run: make, about: First., tags: [slow, db] }\n  b: { run: make, needs: [{ step: a, optional: true }] }\n";
    assert_snapshot!(drawn(text), @r#"
    a
        {"action":{"exec":{"argv":["make"]}},"about":"First."}
    b <- a?
        {"action":{"exec":{"argv":["make"]}}}
    "#);
    let expanded = plan(text, &[]).expect("it is sound");
    assert_snapshot!(format!("{:#?}", expanded.steps), @r#"
    [
        ExpandedStep {
            name: "a",
            about: Some(
                "First.",
            ),
            tags: [
                "slow",
                "db",
            ],
            needs: [],
            node: #0,
            cells: 0..1,
            unavailable: None,
        },
        ExpandedStep {
            name: "b",
            about: None,
            tags: [
                "ci",
            ],
            needs: [
                "a",
            ],
            node: #1,
            cells: 1..2,
            unavailable: None,
        },
    ]
    "#);
}

#[test]
fn step_with_a_name_that_begins_with_x_is_a_step() {
    assert_snapshot!(drawn("x-note: 1\nsteps:\n  x-ray: { run: make, x-note: 2 }\n"), @r#"
    x-ray
        {"action":{"exec":{"argv":["make"]}}}
    "#);
}

#[test]
fn same_file_gives_the_same_plan() {
    let text =
        include_str!("sample.yml").replace("image:", "x-image:").replace("http:", "run: x # ");
    let text = ["inputs", "artifacts", "reports", "workspace"]
        .iter()
        .fold(text, |text, key| text.replace(&format!("{key}:"), &format!("x-{key}:")));
    let print = || plan(&text, &[]).expect("it is sound").plan.fingerprint();
    assert_eq!(print(), print());
}
