//! A simulated second host: other processes, another boot, another name; the same files.

use std::path::Path;
use std::process::Command;

use super::scene::WitnessScene;
use crate::support::program::RunningProgram;
use crate::support::project_folder::ProjectFolder;

/// Creates the namespaces. The child is the first process of its own namespace, and everything in it ends with it.
const UNSHARE: [&str; 6] = ["--pid", "--fork", "--mount-proc", "--mount", "--uts", "--kill-child"];

/// The boot id of the second host.
const BOOT: &str = "5ec0ad00-0000-4000-8000-00000000b007\n";

/// Hides the common host, and executes the program.
const BECOMES: &str = r#"
mount --bind "$1" /proc/sys/kernel/random/boot_id && hostname second && shift && exec "$@"
"#;

/// Returns whether this process may create namespaces; prints a message if not.
#[expect(clippy::print_stdout, reason = "a round that was skipped says so")]
pub(super) fn is_permitted() -> bool {
    let made = Command::new("unshare").args(UNSHARE).arg("true").output();
    let permitted = made.is_ok_and(|made| made.status.success());
    if !permitted {
        println!("skipped: only root can make a second host from namespaces");
    }
    permitted
}

/// Starts the program on the second host.
fn start(project: &ProjectFolder, line: &str) -> RunningProgram {
    project.file("boot", BOOT);
    let mut command = project.program("unshare");
    command.args(UNSHARE).args(["sh", "-c", BECOMES, "sh"]).arg(project.path().join("boot"));
    command.arg(env!("CARGO_BIN_EXE_windlass")).args(line.split_whitespace());
    project.start_command(command)
}

/// Copies a folder with everything in it.
pub(super) fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").arg(from).arg(to).status();
    assert!(copied.is_ok_and(|status| status.success()), "{} is copied", from.display());
}

impl WitnessScene {
    /// Starts a second worker from a copy of the state of the worker that holds the lock. The first is stopped: it
    /// would kill its step as soon as it learned of the second.
    pub(super) fn start_second_host(&mut self) {
        self.stop_worker();
        let project = &self.cluster.project;
        let state = self.site.state(project, &self.holder.1);
        let copied = project.path().join("copied-state");
        copy(&state, &copied);
        let line = self.worker_line(&self.holder.1, &copied);
        let second = start(project, &line);
        self.others.push(second);
    }
}
