//! Python validators and clients that are independent of windlass.

use std::process::Command;

/// Returns a Python that can import these modules: the first that is found, or the system's. A test without one prints
/// that and is skipped, but not in CI.
#[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
pub(crate) fn python(imports: &str, packages: &str) -> Option<Command> {
    let has = |python: &&str| {
        let probe = Command::new(python).args(["-c", &format!("import {imports}")]).output();
        probe.is_ok_and(|output| output.status.success())
    };
    let found = ["python3", "/usr/bin/python3"].into_iter().find(has).map(Command::new);
    if found.is_none() {
        let help = format!("no Python with {imports}: apt-get install {packages}");
        println!("skipped: {help}");
        assert!(!std::env::vars().any(|of| of == ("CI".into(), "true".into())), "{help}");
    }
    found
}
