//! Processes of windlass hold secrets in their memory and environment: no other process of their user reads them.

use std::fs::{self, Permissions};
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::cluster::free_port;
use crate::support::processes::guard_of;
use crate::support::program::RunningProgram;
use crate::support::project_folder::ProjectFolder;
use crate::support::waiting::until;

/// An account without rights, because the tests may run as root, and root can read everything.
const NOBODY: u32 = 65534;

/// A folder and programs of a user that may not read the processes of other users.
struct UnprivilegedUser {
    project: ProjectFolder,
    user: u32,
}

impl UnprivilegedUser {
    fn new() -> Self {
        let project = ProjectFolder::with("");
        let own = rustix::process::geteuid().as_raw();
        let user = if own == 0 { NOBODY } else { own };
        let home = project.path().parent().expect("it is in a folder").to_owned();
        for folder in [&home, &project.path()] {
            chown(folder, Some(user), None).expect("it may be given away");
        }
        Self { project, user }
    }

    /// A copy of a program that is in a folder which this user cannot enter.
    fn copy(&self, program: &Path) -> PathBuf {
        let copy = self.project.path().join(program.file_name().expect("it has a name"));
        if !copy.exists() {
            fs::copy(program, &copy).expect("there is room");
            fs::set_permissions(&copy, Permissions::from_mode(0o755)).expect("it is ours");
        }
        copy
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = self.project.program(program);
        command.uid(self.user);
        command
    }

    fn start(&self, program: &Path, line: &str) -> RunningProgram {
        let mut command = self.command(program);
        command.args(line.split_whitespace());
        self.project.start_command(command)
    }

    /// Whether another process of this user can read the environment of a process.
    fn reads_environment_of(&self, pid: &str) -> bool {
        let mut command = self.command(Path::new("cat"));
        let read = command.arg(format!("/proc/{pid}/environ")).output().expect("it can be started");
        assert_eq!(read.status.success(), !read.stdout.is_empty(), "{read:?}");
        read.status.success()
    }
}

fn child_of(pid: &str) -> String {
    let mut child = String::new();
    until(&format!("{pid} has a child"), || {
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
        lists.collect::<String>().split(' ').next().unwrap_or_default().clone_into(&mut child);
        !child.is_empty()
    });
    child
}

#[test]
fn no_process_of_the_user_reads_controller_worker_guard_or_tether() {
    let user = UnprivilegedUser::new();
    let windlass = user.copy(Path::new(env!("CARGO_BIN_EXE_windlass")));
    let port = free_port();
    let controller =
        user.start(&windlass, &format!("serve --listen 127.0.0.1:{port} --no-token --no-exec"));
    let join = format!("http://127.0.0.1:{port}");
    let worker = user.start(&windlass, &format!("worker --join {join} --name far --slots 1"));
    user.project.file("s.yml", "steps: { s: { run: 'echo $$ >> pids; exec sleep 1000' } }");
    until("the controller listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    let submitted = user.start(&windlass, &format!("submit s.yml --to {join}"));
    let submitted = submitted.ended();
    assert_eq!(submitted.code, Some(0), "{submitted:?}");
    user.project.until_lines("pids", 1);
    let step = user.project.lines("pids").remove(0);
    let guard = guard_of(worker.pid()).as_raw_nonzero().to_string();
    let stat = fs::read_to_string(format!("/proc/{step}/stat")).expect("it runs");
    let tether =
        stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)).expect("a parent");
    assert_ne!(tether, guard, "the step hangs on a tether");
    until("the step is another program by now", || user.reads_environment_of(&step));
    let hidden = [
        ("controller", controller.pid().to_string()),
        ("worker", worker.pid().to_string()),
        ("guard", guard),
        ("tether", tether.to_owned()),
    ];
    for (name, pid) in hidden {
        assert!(!user.reads_environment_of(&pid), "that of the {name}");
        let owner = fs::metadata(format!("/proc/{pid}/environ")).expect("it runs").uid();
        assert_eq!(owner, 0, "that of the {name} belongs to root");
    }
}

#[test]
fn a_program_that_runs_its_pipeline_itself_is_hidden_too() {
    let user = UnprivilegedUser::new();
    let programs = Path::new(env!("CARGO_BIN_EXE_windlass")).parent().expect("it is in a folder");
    let program = user.copy(&programs.join("examples").join("runs_alone"));
    let running = user.start(&program, "");
    user.project.until_lines("began", 1);
    let (own, command) = (running.pid().to_string(), user.project.lines("began").remove(0));
    assert!(!user.reads_environment_of(&own));
    assert!(!user.reads_environment_of(&child_of(&own)), "its guard");
    until("a command is as any program", || user.reads_environment_of(&command));
}
