//! What is asked for: help, version, and requests that make no sense.

use std::process::Stdio;

use insta::assert_snapshot;

use super::arrange::{CliFolder, SHIP};

#[test]
fn version_is_data() {
    let version = concat!("windlass ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(CliFolder::empty().run("--version"), version);
}

#[test]
fn help_is_short_and_grouped() {
    assert_snapshot!(CliFolder::empty().run("--help"), @r#"
    Runs graphs of work on one machine or many

    Usage: windlass COMMAND [ARGUMENTS]

    Run:
      run          Run a pipeline on this machine
      rerun        Run the plan of an earlier run again, or a part of it
      cancel       End a run, here or at a controller
      watch        Show a run that others do, to its end

    Look:
      runs         List runs, the newest first
      show         Show what became of a run
      logs         Print what steps of a run printed
      why          Tell why a step stands where it stands
      plan         Show what a run would do, and what would be skipped here
      graph        Draw the pipeline: text, dot, mermaid or svg
      explain      Explain an error code; without one, list them all

    Write a pipeline:
      init         Write a windlass.yml that fits this folder
      validate     Tell everything that is wrong with a file, and how to mend it
      expand       Print the pipeline with params and defaults in place
      schema       Print the JSON Schema of pipeline files, for editors
      ci           Print the configuration of a CI service whose runners share a run

    This machine:
      doctor       Look at this machine: can windlass work here, and how well?
      config       Show the settings of this machine, and where each comes from
      completions  Print completions for a shell

    Use a cluster:
      submit       Have a controller run a pipeline on its workers
      workers      List the workers of a cluster
      locks        List the locks of a cluster, who holds them and how many wait
      keys         List what is done once (`idempotent:`): its keys, and who did it
      queue        List what is ready and waits for workers, by what it requires
      context      Save the controller that commands ask; without one, show it

    Serve:
      serve        Lead a cluster: keep its runs, and hand their steps to workers
      worker       Join a cluster and run its steps
      dev          Start a controller and workers here, to try a cluster out
      token        Make, list and revoke what opens a controller
      audit        Show what was changed on whose word, the newest last
      store        Copy a store to another place, or condemn a run in it

    Options:
      -h, --help     Print this help
      -V, --version  Print the version

    The smallest pipeline, in a file windlass.yml:

      steps:
        hello:
          run: echo hi

    `windlass init` writes one that fits the folder. `windlass COMMAND --help` tells more, with
    examples.
    "#);
}

#[test]
fn every_command_has_an_example() {
    let folder = CliFolder::empty();
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
fn a_commands_help() {
    assert_snapshot!(CliFolder::empty().run("plan --help"), @r#"
    Show what a run would do, and what would be skipped here

    Usage: windlass plan [OPTIONS] [FILE | STEP]...

    Arguments:
      [FILE | STEP]...  The pipeline file, if it ends in .yml or .yaml or contains `/`; then steps

    Options:
      -p, --param <NAME=VALUE>  Give a param a value
          --json                Print one JSON object
      -h, --help                Print help

    Steps of one wave need nothing of each other. Nothing is run.

    Examples:
      windlass plan
      windlass plan test                 what `test` needs, and itself
      windlass plan ship.yml deploy -p channel=stable
      windlass plan --json | jq '.steps[] | select(.groups[].skipped)'
    "#);
}

#[test]
fn help_is_a_command_too() {
    let folder = CliFolder::empty();
    assert_eq!(folder.data("help"), folder.data("--help"));
    for command in ["run", "plan", "validate", "explain"] {
        assert_eq!(
            folder.data(&format!("help {command}")),
            folder.data(&format!("{command} --help"))
        );
    }
    assert_snapshot!(folder.run("help valdate"), @r#"
    exit code 2
    --- said ---
    error: unrecognized subcommand 'valdate'

    Usage: windlass COMMAND [ARGUMENTS]

    For more information, try '--help'.
    "#);
}

#[test]
fn nothing_asked_is_answered_with_help() {
    let output = CliFolder::empty().output("");
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    assert!(String::from_utf8_lossy(&output.stderr).contains("Write a pipeline:"));
}

#[test]
fn a_mistyped_command() {
    assert_snapshot!(CliFolder::empty().run("valdate"), @r#"
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
    let said = CliFolder::empty().run("rnu");
    assert!(said.contains("tip: a similar subcommand exists: 'run'\n"), "{said}");
}

#[test]
fn a_mistyped_option() {
    assert_snapshot!(CliFolder::empty().run("plan --jsn"), @r#"
    exit code 2
    --- said ---
    error: unexpected argument '--jsn' found

      tip: a similar argument exists: '--json'

    Usage: windlass plan --json [FILE | STEP]...

    For more information, try '--help'.
    "#);
}

#[test]
fn a_param_without_a_value() {
    assert_snapshot!(CliFolder::empty().run("plan -p channel"), @r#"
    exit code 2
    --- said ---
    error: invalid value 'channel' for '--param <NAME=VALUE>': a param is given as NAME=VALUE

    For more information, try '--help'.
    "#);
}

#[test]
fn a_mistyped_step() {
    assert_snapshot!(CliFolder::with(SHIP).run("plan bundel"), @r#"
    exit code 2
    --- said ---
    error: there is no step `bundel`: did you mean `bundle`?
    "#);
}

#[test]
fn a_step_like_no_other() {
    assert_snapshot!(CliFolder::with(SHIP).run("plan release"), @r#"
    exit code 2
    --- said ---
    error: there is no step `release`
      hint: the steps are lint, test, bundle, soak, deploy, tell
    "#);
}

#[test]
fn a_mistyped_cell() {
    assert_snapshot!(CliFolder::with(SHIP).run("plan test[linux,sqlit]"), @r#"
    exit code 2
    --- said ---
    error: there is no step `test[linux,sqlit]`
      hint: a matrix is run as a whole: name it without its cell
    "#);
}

#[test]
fn a_mistyped_param() {
    assert_snapshot!(CliFolder::with(SHIP).run("plan -p chanel=beta"), @r#"
    exit code 2
    --- said ---
    error[E121]: there is no param `chanel`
     --> windlass.yml:3:3
      |
    3 |   channel: { choose: [beta, stable], default: beta }
      |   ^^^^^^^
      |
      = help: did you mean `channel`?

    windlass.yml: 1 error; `windlass explain E121` tells more
    "#);
}

#[test]
fn a_reader_that_went_away_is_not_an_error() {
    let mut child = CliFolder::with(SHIP).command("--help").stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
