//! A temporary PostgreSQL server with Debian's defaults: every commit is on the disk before it is confirmed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

use crate::disk::ScratchFolder;
use crate::engine_fleet::now;
use crate::process::BenchProcess;

const WITHIN: Duration = Duration::from_secs(30);

/// A server that ends with its owner.
#[derive(Debug)]
pub(crate) struct BenchPostgres {
    folder: PathBuf,
    _process: BenchProcess,
}

impl BenchPostgres {
    /// Starts a server; `None` if PostgreSQL is not installed.
    #[expect(clippy::disallowed_methods, reason = "a deadline for the start of a process")]
    pub(crate) fn start(scratch: &ScratchFolder) -> Option<Self> {
        let programs = programs()?;
        let folder = scratch.empty("postgres");
        fs::create_dir(&folder).expect("there is room for a folder");
        if is_root() {
            let given = Command::new("chown").arg("postgres").arg(&folder).status();
            assert!(given.is_ok_and(|status| status.success()), "root may give it away");
        }
        let data = folder.join("data");
        let mut init = as_its_user(&programs.join("initdb"));
        init.args(["--auth=trust", "--username=windlass", "--encoding=UTF8", "--no-locale"]);
        init.arg("--pgdata").arg(&data).stdout(Stdio::null());
        assert!(init.status().is_ok_and(|status| status.success()), "initdb");
        let mut server = as_its_user(&programs.join("postgres"));
        server.arg("-D").arg(&data).arg("-k").arg(&folder);
        let (process, errors) = BenchProcess::start(server.args(["-c", "listen_addresses="]));
        thread::spawn(move || drop(std::io::copy(&mut { errors }, &mut std::io::sink())));
        let began = now();
        let mut ready = Command::new(programs.join("pg_isready"));
        ready.arg("-q").arg("-h").arg(&folder);
        while !ready.status().is_ok_and(|status| status.success()) {
            assert!(began.elapsed() < WITHIN, "the server takes connections");
            thread::sleep(Duration::from_millis(20));
        }
        Some(Self { folder, _process: process })
    }

    /// The address of a new database.
    pub(crate) fn database(&self, name: &str) -> String {
        let programs = programs().expect("it runs");
        let mut create = Command::new(programs.join("createdb"));
        create.args(["-U", "windlass", "-h"]).arg(&self.folder).arg(name);
        assert!(create.status().is_ok_and(|status| status.success()), "createdb {name}");
        let host = self.folder.display().to_string().replace('/', "%2F");
        format!("postgres://windlass@{host}/{name}")
    }

    /// The output of a statement.
    pub(crate) fn ask(&self, database: &str, statement: &str) -> String {
        let programs = programs().expect("it runs");
        let mut psql = Command::new(programs.join("psql"));
        psql.args(["-XqAt", "-U", "windlass", "-d", database, "-c", statement]);
        let output = psql.arg("-h").arg(&self.folder).output().expect("psql is there");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }
}

/// The folder of its programs, which Debian separates by version.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let mut folders: Vec<PathBuf> = versions.flatten().map(|it| it.path().join("bin")).collect();
    folders.sort();
    folders.into_iter().rfind(|folder| folder.join("postgres").exists())
}

/// PostgreSQL refuses to run as root.
fn as_its_user(program: &Path) -> Command {
    let mut command = if is_root() {
        let mut command = Command::new("runuser");
        command.args(["-u", "postgres", "--"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    command.current_dir("/");
    command
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout == b"0\n")
}
