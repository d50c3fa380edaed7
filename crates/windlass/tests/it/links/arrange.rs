//! The vocabulary of these tests: a controller and workers that are joined by letters alone, each a process.

use std::path::PathBuf;

use crate::cluster::arrange::ClusterFolder;
use crate::run::arrange::{RunFolder, RunningProgram, until};

/// Leases last a minute: what passes on sooner does not do so because one ended by time.
const FLAGS: &str = "--no-exec --lease-ttl 1m";

/// A cluster whose workers leave letters.
pub(crate) struct MailboxFleet {
    pub(crate) cluster: ClusterFolder,
    program: String,
    link: String,
}

impl MailboxFleet {
    /// Processes of `windlass`.
    pub(crate) fn start(link: &str) -> Self {
        Self::start_as(env!("CARGO_BIN_EXE_windlass").to_owned(), RunFolder::with(""), link)
    }

    /// Processes of a program of somebody's own.
    pub(crate) fn start_as(program: String, place: RunFolder, link: &str) -> Self {
        let flags = format!("{FLAGS} --link {link}");
        let cluster = ClusterFolder::start_as(&program, place, &flags);
        Self { cluster, program, link: link.to_owned() }
    }

    /// A worker of this name, once it has joined.
    pub(crate) fn worker(&self, name: &str, flags: &str) -> RunningProgram {
        let worker = self.start_worker(name, flags);
        until(&format!("{name} has joined"), || self.cluster.status_of(name) == "online");
        worker
    }

    pub(crate) fn start_worker(&self, name: &str, flags: &str) -> RunningProgram {
        let place = &self.cluster.place;
        let mut command = place.program(&self.program);
        command.args(["worker", "--join", &self.link, "--name", name]);
        place.start_command({
            command.args(flags.split_whitespace());
            command
        })
    }
}

/// The example with a link of its own, which is built with the tests.
pub(crate) fn dir_link() -> String {
    let test = std::env::current_exe().expect("this is a program");
    let built: PathBuf = test.ancestors().nth(2).expect("it is in deps/").join("examples/dir-link");
    assert!(built.exists(), "{} is built with `cargo test`", built.display());
    built.to_string_lossy().into_owned()
}
