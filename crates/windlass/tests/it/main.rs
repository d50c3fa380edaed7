//! Runs the program `windlass` and reads what it prints; what the journals promise is in `conformance`.

mod archives;
mod conformance;
mod controller;
#[cfg(feature = "sqlite")]
mod disks;
mod flawed;
mod golden;
#[cfg(target_os = "linux")]
mod guard;
mod logs;
#[cfg(feature = "sqlite")]
mod tables;

use std::process::{Command, Output, Stdio};

#[test]
fn version_is_data() {
    let output = windlass(&["--version"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(stdout(&output), concat!("windlass ", env!("CARGO_PKG_VERSION"), "\n"));
    assert_eq!(stderr(&output), "");
}

#[test]
fn help_is_data_and_names_every_option() {
    let output = windlass(&["--help"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).contains("--help") && stdout(&output).contains("--version"));
    assert_eq!(stderr(&output), "");
}

#[test]
fn a_command_is_refused_with_the_reason() {
    for arguments in [&["run", "ship.yml"][..], &["--frobnicate"], &[]] {
        let output = windlass(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(stdout(&output), "", "{arguments:?}");
        assert!(stderr(&output).contains("has no command yet"), "{arguments:?}");
    }
}

#[test]
fn a_reader_that_went_away_is_not_an_error() {
    let mut child = command(&["--help"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

fn windlass(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the program starts")
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.args(arguments);
    command
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).expect("it prints UTF-8")
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).expect("it prints UTF-8")
}
