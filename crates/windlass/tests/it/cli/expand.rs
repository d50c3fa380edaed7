//! `expand`: all values are filled in, and the expanded file gives the same plan.

use insta::assert_snapshot;
use serde_json::Value;

use crate::cli::ship::SHIP;
use crate::support::project_folder::{ProjectFolder, repository};

#[test]
#[expect(clippy::too_many_lines, reason = "a test is as long as what is printed")]
fn defaults_and_params_are_expanded() {
    assert_snapshot!(ProjectFolder::with(SHIP).page("expand -p channel=stable"), @r#"
    name: ship
    params:
      channel:
        type: string
        choose: [beta, stable]
        default: stable
    locks:
      device-farm: 2
    steps:
      lint:
        about: Clippy, warnings are errors
        env:
          CARGO_TERM_COLOR: always
        timeout: 15m
        retry: 1
        run: cargo clippy -- -D warnings
      test:
        needs: lint
        matrix:
          os: [linux, plan9]
          db: [sqlite, postgres]
          exclude:
            os: plan9
            db: postgres
        env:
          CARGO_TERM_COLOR: always
          DB: "${{ matrix.db }}"
        timeout: 15m
        retry:
          times: 2
          wait: 5s..1m
          on: [exit-101, timed_out]
          elsewhere: true
          lost: 3
        run: cargo nextest run --profile ci
      bundle:
        needs: test
        env:
          CARGO_TERM_COLOR: always
          CHANNEL: stable
        timeout: 15m
        retry: 1
        requires: [cpu>=1, gpu | executor=shell, not spot]
        priority: 10
        outputs: version
        run: |
          ./bundle.sh "$CHANNEL" ${{ params.channel }}
          echo "version=$(cat VERSION)" >> "$WINDLASS_OUTPUT"
      soak:
        needs: bundle
        lock: device-farm
        env:
          CARGO_TERM_COLOR: always
        timeout: 1h
        retry: 1
        run: ./soak.sh dist/
      deploy:
        needs: [bundle, soak]
        if: params.channel == "stable"
        lock:
          name: prod
          order: newest-first
        env:
          CARGO_TERM_COLOR: always
        secrets: DEPLOY_TOKEN
        timeout: 15m
        retry:
          lost: 0
        run: ./deploy.sh ${{ steps.bundle.outputs.version }}
      tell:
        needs:
          step: deploy
          optional: true
        if: always()
        pin: leader
        env:
          CARGO_TERM_COLOR: always
        timeout: 15m
        retry: 1
        run: ./notify.sh
    "#);
}

#[test]
fn expanded_file_has_the_same_plan_and_expands_to_itself() {
    let examples = ["hello.yml", "checks.yml", "release.yml"];
    let examples = examples
        .map(|name| std::fs::read_to_string(repository().join("examples").join(name)).unwrap());
    for text in examples.iter().map(String::as_str).chain([SHIP, ODD]) {
        let folder = ProjectFolder::with(text);
        let once = folder.data("expand");
        let folder = folder.with_file("once.yml", &once);
        assert_eq!(folder.data("expand once.yml"), once, "a fixed point");
        assert_eq!(plan(&folder, "once.yml"), plan(&folder, "windlass.yml"), "{once}");
        let json = folder.data("expand --json");
        let folder = folder.with_file("json.yml", json);
        assert_eq!(plan(&folder, "json.yml"), plan(&folder, "windlass.yml"), "JSON is YAML");
    }
}

#[test]
fn params_beside_run_time_values_are_expanded() {
    let text = r#"params: { channel: beta, both: "a'b\"c", n: -2 }
steps:
  a: { run: make, outputs: [v] }
  b:
    needs: a
    if: steps.a.outputs.v != params.channel and params.n < 3
    env:
      MIXED: "${{ params.channel }}-${{ default(steps.a.outputs.v, params.channel) }}"
      BOTH: "${{ default(steps.a.outputs.v, params.both) }}"
      LESS: "${{ params.n < steps.a.outputs.v }}"
    run: make
"#;
    let folder = ProjectFolder::with(text);
    let once = folder.data("expand");
    let step = once.split("  b:\n").nth(1).unwrap();
    assert_snapshot!(step, @r#"
    needs: a
    if: steps.a.outputs.v != "beta" and "-2" < 3
    env:
      MIXED: beta-${{ default(steps.a.outputs.v, "beta") }}
      BOTH: "${{ default(steps.a.outputs.v, params.both) }}"
      LESS: '${{ "-2" < steps.a.outputs.v }}'
    run: make
    "#);
    let folder = folder.with_file("once.yml", &once);
    assert_eq!(plan(&folder, "once.yml"), plan(&folder, "windlass.yml"));
}

fn plan(folder: &ProjectFolder, file: &str) -> String {
    let plan: Value =
        serde_json::from_str(&folder.data(&format!("plan {file} --json"))).expect("it is JSON");
    plan["fingerprint"].as_str().expect("it is text").to_owned()
}

#[test]
fn file_with_unavailable_keys_is_not_expanded() {
    let folder = ProjectFolder::with("steps:\n  a: { run: make, image: rust }\n");
    let said = folder.page("expand");
    assert!(said.starts_with("exit code 3\n--- said ---\nerror[E043]"), "{said}");
}

/// Texts that YAML would otherwise read as another type.
const ODD: &str = r#"name: "no"
about: "1.10"
params:
  n: { default: 3, about: "a: b #c" }
  flag: false
  text: { default: "it's \"so\"\n\ttab" }
  maybe: { required: false }
env: { A: "${{ params.text }}", B: "${{ \"${{\" }} x", EMPTY: "" }
defaults: { env: { D: "true" }, shell: bash, tags: [slow] }
steps:
  "yes":
    matrix: { v: ["1.10", "null", "", "${{ params.n }}"], w: [a b, "c,d"], include: { v: "1.10", w: a b, extra: "x: y" } }
    timeout: "${{ params.n }}m"
    requires: "n=${{ params.n }} | linux"
    prefers: [ssd, "v=${{ matrix.v }}x"]
    run: "  leading\n\ntrailing  \n\n"
  list: { matrix: [linux, windows], priority: -5, call: noop }
  last:
    needs: [{ step: "yes", optional: true }, list]
    if: failure() and (params.n > 2 or params.flag)
    nodes: { allow: [one, two], deny: three }
    lock: ["./own-${{ params.n }}", { name: b, order: cancel-older }]
    kill_grace: 250ms
    wait_for_lock: 1h30m
    run: |
      echo 'a' "${{ params.text }}"
        indented # comment
"#;
