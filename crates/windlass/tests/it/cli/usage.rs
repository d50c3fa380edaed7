//! Help, version, and invalid command lines.

use std::process::Stdio;

use insta::assert_snapshot;

use crate::cli::ship::SHIP;
use crate::support::project_folder::ProjectFolder;

#[test]
fn version_is_data() {
    let version = concat!("windlass ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(ProjectFolder::empty().page("--version"), version);
}

#[test]
fn help_is_short_and_grouped() {
    assert_snapshot!(ProjectFolder::empty().page("--help"), @r#"
    Run pipelines of dependent steps on one machine or many

    Usage: windlass COMMAND [ARGUMENTS]

    Run:
      run          Run a pipeline on this machine
      rerun        Run the plan of an earlier run again, or a part of it
      cancel       Cancel a run, here or on a controller
      watch        Follow a run of another process until it ends

    Look:
      runs         List runs: interrupted ones first, then newest first
      show         Show the result of a run
      logs         Print the output of a run's steps
      artifacts    List and copy the files that steps handed on (`artifacts:`)
      why          Explain why a step is waiting, skipped or failed
      plan         Show the steps that a run would execute or skip on this machine
      graph        Draw the pipeline as text, dot, mermaid or svg
      explain      Explain an error code, or list all codes

    Write a pipeline:
      init         Create a windlass.yml that fits this folder
      validate     Report every problem in a pipeline file, with corrections
      expand       Print the pipeline with params and defaults filled in
      schema       Print the JSON Schema of pipeline files, for editors
      ci           Print the configuration of a CI service whose runners share a run

    This machine:
      doctor       Check whether windlass works on this machine, and how fast
      config       Show the settings of this machine and their sources
      completions  Print completions for a shell

    Use a cluster:
      submit       Submit a pipeline to a controller, which runs it on its workers
      workers      List the workers of a cluster
      locks        List the locks of a cluster, their holders and the number of waiting steps
      keys         List idempotency keys (`idempotent:`) and the step that holds each
      queue        List steps that are ready and wait for a worker, by requirement
      context      Save the controller that commands use, or show it

    Serve:
      serve        Lead a cluster: store its runs and dispatch steps to workers
      worker       Join a cluster and run its steps
      dev          Start a controller and workers on this machine, to try out a cluster
      token        Create, list and revoke access tokens of a controller
      audit        Show recent administrative changes and their authors, newest last
      store        Copy, back up, restore or check a store, or condemn a run in it

    Options:
      -h, --help     Print this help
      -V, --version  Print the version

    The smallest pipeline, in a file windlass.yml:

      steps:
        hello:
          run: echo hi

    `windlass init` creates one for this folder. `windlass COMMAND --help` has details and examples.
    "#);
}

#[test]
fn every_command_has_an_example() {
    let folder = ProjectFolder::empty();
    for command in [
        "plan",
        "graph",
        "explain",
        "init",
        "validate",
        "expand",
        "schema",
        "submit",
        "watch",
        "workers",
        "worker drain",
        "locks",
        "queue",
        "context",
    ] {
        let help = folder.data(&format!("{command} --help"));
        assert!(help.contains("Example"), "{help}");
        assert!(help.contains(&format!("  windlass {command}")), "{help}");
    }
}

#[test]
fn help_of_a_command_is_printed() {
    assert_snapshot!(ProjectFolder::empty().page("plan --help"), @r#"
    Show the steps that a run would execute or skip on this machine

    Usage: windlass plan [OPTIONS] [FILE | STEP]...

    Arguments:
      [FILE | STEP]...  Name the pipeline file (ending in .yml or .yaml, or containing `/`), then steps

    Options:
      -p, --param <NAME=VALUE>  Set a param of the pipeline; can be repeated
          --json                Print one JSON object
      -h, --help                Print help

    Steps of one wave do not depend on each other. Nothing is run.

    Examples:
      windlass plan
      windlass plan test                 `test` and its needs
      windlass plan ship.yml deploy -p channel=stable
      windlass plan --json | jq '.steps[] | select(.groups[].skipped)'
    "#);
}

#[test]
fn help_is_a_command_too() {
    let folder = ProjectFolder::empty();
    assert_eq!(folder.data("help"), folder.data("--help"));
    for command in ["run", "plan", "validate", "explain"] {
        assert_eq!(
            folder.data(&format!("help {command}")),
            folder.data(&format!("{command} --help"))
        );
    }
    assert_snapshot!(folder.page("help valdate"), @r#"
    exit code 2
    --- said ---
    error: unrecognized subcommand 'valdate'

    Usage: windlass COMMAND [ARGUMENTS]

    For more information, try '--help'.
    "#);
}

#[test]
fn program_without_arguments_prints_help() {
    let ended = ProjectFolder::empty().run("");
    assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""));
    assert!(ended.err.contains("Write a pipeline:"));
}

#[test]
fn mistyped_command_gets_a_suggestion() {
    assert_snapshot!(ProjectFolder::empty().page("valdate"), @r#"
    exit code 2
    --- said ---
    error: unrecognized subcommand 'valdate'

      tip: a similar subcommand exists: 'validate'

    Usage: windlass COMMAND [ARGUMENTS]

    For more information, try '--help'.
    "#);
}

#[test]
fn transposed_letters_are_corrected() {
    let said = ProjectFolder::empty().page("rnu");
    assert!(said.contains("tip: a similar subcommand exists: 'run'\n"), "{said}");
}

#[test]
fn mistyped_option_gets_a_suggestion() {
    assert_snapshot!(ProjectFolder::empty().page("plan --jsn"), @r#"
    exit code 2
    --- said ---
    error: unexpected argument '--jsn' found

      tip: a similar argument exists: '--json'

    Usage: windlass plan --json [FILE | STEP]...

    For more information, try '--help'.
    "#);
}

#[test]
fn param_without_a_value_is_refused() {
    assert_snapshot!(ProjectFolder::empty().page("plan -p channel"), @r#"
    exit code 2
    --- said ---
    error: invalid value 'channel' for '--param <NAME=VALUE>': write a param as NAME=VALUE

    For more information, try '--help'.
    "#);
}

#[test]
fn mistyped_step_gets_a_suggestion() {
    assert_snapshot!(ProjectFolder::with(SHIP).page("plan bundel"), @r#"
    exit code 2
    --- said ---
    error: there is no step `bundel`: did you mean `bundle`?
    "#);
}

#[test]
fn unknown_step_lists_the_existing_ones() {
    assert_snapshot!(ProjectFolder::with(SHIP).page("plan release"), @r#"
    exit code 2
    --- said ---
    error: there is no step `release`
      hint: the steps are lint, test, bundle, soak, deploy, tell
    "#);
}

#[test]
fn mistyped_cell_is_refused_with_a_hint() {
    assert_snapshot!(ProjectFolder::with(SHIP).page("plan test[linux,sqlit]"), @r#"
    exit code 2
    --- said ---
    error: there is no step `test[linux,sqlit]`
      hint: a matrix runs as a whole: name it without a cell
    "#);
}

#[test]
fn mistyped_param_gets_a_suggestion() {
    assert_snapshot!(ProjectFolder::with(SHIP).page("plan -p chanel=beta"), @r#"
    exit code 2
    --- said ---
    error[E121]: there is no param `chanel`
     --> windlass.yml:3:3
      |
    3 |   channel: { choose: [beta, stable], default: beta }
      |   ^^^^^^^
      |
      = help: did you mean `channel`?

    windlass.yml: 1 error; for details, run `windlass explain E121`
    "#);
}

#[test]
fn closed_output_is_not_an_error() {
    let mut child =
        ProjectFolder::with(SHIP).command("--help").stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
