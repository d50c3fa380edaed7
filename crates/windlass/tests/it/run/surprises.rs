//! Common surprises of other tools, each as a test with one pipeline file.

use serde_json::Value;

use crate::support::project_folder::ProjectFolder;

const SHIP: &str = r#"
name: ship
params:
  channel: { default: beta }
steps:
  lint: { if: params.channel == "never", run: "echo lint >> trace" }
  test:
    needs: lint
    matrix: { os: [linux, windows], db: [sqlite, postgres], exclude: { os: windows, db: postgres } }
    outputs: [seen]
    run: echo "seen=$WINDLASS_MATRIX_DB" >> "$WINDLASS_OUTPUT"
  bundle:
    needs: test
    env: { CHANNEL: "${{ params.channel }}", RESULTS: "${{ steps.test.outputs }}" }
    run: |
      printf '%s\n' "$RESULTS" > results
      printf '%s\0' ${{ params.channel }} "${{ params.channel }}" "$CHANNEL" "<${{ params.channel }}>" > in-sh
  bundle-bash:
    needs: test
    shell: bash
    run: |
      printf '%s\0' ${{ params.channel }} "${{ params.channel }}" > in-bash
      cat <<END > in-document
      ${{ params.channel }}
      END
  deploy: { needs: bundle, if: params.channel == "stable", run: "echo deploy >> trace" }
  tell: { needs: [deploy, lint], run: "echo tell >> trace" }
"#;

#[test]
fn skipped_step_skips_no_other_and_reports_the_values() {
    let project = ProjectFolder::with(SHIP);
    let ended = project.run("run");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(project.lines("trace"), ["tell"], "neither lint nor deploy, and tell all the same");
    assert_eq!(project.status("lint"), "skipped");
    let why = project.data("why latest deploy");
    let asked = r#"params.channel == "stable"  (params.channel = "beta")"#;
    assert!(why.contains(asked), "{why}");
}

#[test]
fn outputs_of_a_matrix_are_a_list_with_every_cell_in_the_order_of_the_file() {
    let project = ProjectFolder::with(SHIP);
    assert_eq!(project.run("run").code, Some(0));
    let results: Value = serde_json::from_str(&project.read("results")).expect("it is JSON");
    let cells = results.as_array().expect("it is a list");
    let names: Vec<&Value> = cells.iter().map(|cell| &cell["cell"]).collect();
    assert_eq!(cells.len(), 3, "one was excluded: {names:?}");
    assert_eq!(cells[0]["outputs"]["seen"], "sqlite");
    assert_eq!(cells[1]["outputs"]["seen"], "postgres");
    assert_eq!(cells[2]["outputs"], Value::Null, "nobody here is windows: {cells:?}");
}

#[test]
fn a_param_is_one_literal_value_wherever_it_stands() {
    for value in ["\"; rm -rf ~; $(id)", "it's \"two\"\nlines `id` \\ $HOME", "-n *"] {
        let project = ProjectFolder::with(SHIP);
        let mut command = project.command("run -p");
        command.arg(format!("channel={value}"));
        let ended = project.start_command(command).ended();
        assert_eq!(ended.code, Some(0), "{value}: {ended:?}");
        let in_sh = format!("{value}\0{value}\0{value}\0<{value}>\0");
        assert_eq!(project.read("in-sh"), in_sh);
        assert_eq!(project.read("in-bash"), format!("{value}\0{value}\0"));
        assert_eq!(project.read("in-document"), format!("{value}\n"));
    }
}

#[test]
fn comments_and_blanks_keep_the_plan_and_any_word_changes_it() {
    let fingerprint = |text: &str| -> Value {
        let plan: Value = serde_json::from_str(&ProjectFolder::with(text).data("plan --json"))
            .expect("it is JSON");
        plan["fingerprint"].clone()
    };
    let plan = fingerprint(SHIP);
    assert_eq!(
        plan,
        fingerprint(&format!("# about\n{}\n", SHIP.replace("steps:", "steps: # all")))
    );
    assert_ne!(plan, fingerprint(&SHIP.replace("echo lint", "echo lints")));
}

#[test]
fn the_same_file_gives_the_same_events() {
    // The time at which a step is seen running varies; the grants and the outcomes do not.
    let events = |kind: &str| -> Vec<(Value, Value)> {
        let out = ProjectFolder::with(SHIP).data("run --json --jobs 1");
        let events = out.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let events = events.filter(|event| event["type"] == kind);
        events.map(|event| (event["step"].clone(), event["data"]["outcome"].clone())).collect()
    };
    for (kind, least) in [("granted", 5), ("lease_ended", 5), ("step_settled", 3)] {
        let first = events(kind);
        assert!(first.len() >= least, "{kind}: {first:?}");
        assert_eq!(first, events(kind), "{kind}");
    }
}
