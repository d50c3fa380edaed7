//! `windlass dev`: a controller and worker processes on loopback, to try out a cluster.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{fs, io};

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{sleep, timeout};
use tracing::{info, warn};
use windlass_core::environment::EnvironmentPolicy;
use windlass_net::credentials::TokenSecret;

use super::serve::{ControllerDaemon, RUNTIME_WITHIN, ServeOptions, no_signals};
use super::shutdown_signals::ShutdownSignals;
use crate::cli::error::CliError;
use crate::cli::{environment, exit};
use crate::embedded::{EmbeddedNodeError, StoreAddress, read_state};

/// How long workers may take to end after the order to end immediately.
const END_WITHIN: Duration = Duration::from_secs(5);

/// The file in the store with the token of its workers.
const TOKEN_FILE: &str = "dev-token";

/// How long workers outlive a controller that was killed.
const LEADER_GRACE: &str = "60s";

/// How often to check whether a worker has ended, and the pause before its restart.
const RESTART_INTERVAL: Duration = Duration::from_millis(200);

/// A cluster on one machine.
#[derive(Debug)]
pub(crate) struct DevClusterOptions {
    /// Options of the controller.
    pub(crate) serve: ServeOptions,
    /// The number of workers.
    pub(crate) workers: u32,
    /// Concurrent steps of each worker.
    pub(crate) slots: u32,
}

/// Writes a token for its own workers to a file, if the store requires one. Write access to the store already grants
/// full control, so no authorization is needed; the token is valid while this process lives.
pub(crate) fn token_for_workers(store: &Path) -> Result<Option<PathBuf>, CliError> {
    let address = StoreAddress::Folder(store.to_owned());
    let asks = read_state(&address, |engine| engine.keys().requires_token());
    let asks = crate::cli::run_source::runtime()?.block_on(asks);
    if asks.map_err(EmbeddedNodeError::from)? != Some(true) {
        return Ok(None);
    }
    let file = store.join(TOKEN_FILE);
    let written = TokenSecret::generate().and_then(|token| {
        // A file with wider permissions is replaced, not overwritten: a process that has it open could read the new
        // token.
        drop(fs::remove_file(&file));
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(&file)?;
        file.write_all(token.text().as_bytes())
    });
    match written {
        Ok(()) => Ok(Some(file)),
        Err(error) => {
            let what = format!("{} cannot be written: {error}", file.display());
            Err(CliError::unreachable(what))
        }
    }
}

/// Serves until it is stopped, and stops its workers.
pub(crate) fn dev(order: &DevClusterOptions) -> Result<u8, CliError> {
    let program = std::env::current_exe().map_err(|error| {
        CliError::unreachable(format!(
            "the path of this program is unknown, so no worker can start: {error}"
        ))
    })?;
    let runtime = crate::cli::run_source::runtime()?;
    let ended = runtime.block_on(async {
        let mut ends = ShutdownSignals::listen().map_err(|error| no_signals(&error))?;
        let mut controller = tokio::select! {
            started = ControllerDaemon::start(&order.serve) => started?,
            () = ends.next() => return Ok(exit::SUCCESS),
        };
        controller.log_startup(&order.serve);
        let join = controller.url().to_owned();
        let mut workers = DevWorkers { order, program, join, workers: Vec::new() };
        let failed = tokio::select! {
            failed = workers.keep() => Some(not_started(&failed)),
            failed = controller.wait_for_failure() => Some(failed),
            () = ends.next() => None,
        };
        let what = "stopping: running steps finish first; a second signal kills them";
        info!("{what}");
        tokio::select! {
            () = workers.end() => {}
            () = ends.next() => workers.end_now().await,
        }
        let ended = controller.end(&mut ends).await;
        if let Some(file) = &order.serve.token_file {
            // The token is no longer valid.
            drop(fs::remove_file(file));
        }
        failed.map_or(ended, Err)
    });
    runtime.shutdown_timeout(RUNTIME_WITHIN);
    ended
}

/// The worker processes.
struct DevWorkers<'a> {
    order: &'a DevClusterOptions,
    program: PathBuf,
    join: String,
    workers: Vec<Child>,
}

impl DevWorkers<'_> {
    /// Starts the workers, and restarts each that ends. Returns when one cannot be started.
    async fn keep(&mut self) -> io::Error {
        for number in 1..=self.order.workers {
            match self.start(number) {
                Ok(worker) => self.workers.push(worker),
                Err(error) => return error,
            }
        }
        loop {
            sleep(RESTART_INTERVAL).await;
            for (at, number) in (0..self.workers.len()).zip(1..) {
                if is_running(&mut self.workers[at]) {
                    continue;
                }
                let what =
                    format!("the process of worker dev-{number} has ended; starting another");
                warn!("{what}");
                match self.start(number) {
                    Ok(worker) => self.workers[at] = worker,
                    Err(error) => return error,
                }
            }
        }
    }

    fn start(&self, number: u32) -> io::Result<Child> {
        let name = format!("dev-{number}");
        let state = self.order.serve.state.join("workers").join(&name);
        let mut command = Command::new(&self.program);
        // Settings for the workers of this machine do not apply to these.
        let not_meant = |name: &str| name.starts_with("WINDLASS_") && name != "WINDLASS_STATE_DIR";
        for (name, _) in environment::all().iter().filter(|(name, _)| not_meant(name)) {
            command.env_remove(name);
        }
        if let Some(file) = &self.order.serve.token_file {
            command.env("WINDLASS_TOKEN_FILE", file);
        }
        command.args(["worker", "--config", "/dev/null"]);
        if let EnvironmentPolicy::WithholdCredentials(passed) = &self.order.serve.policy {
            command.args(passed.iter().map(|name| format!("--pass-env={name}")));
        }
        command
            .args(["--join", &self.join, "--name", &name])
            .args(["--slots", &self.order.slots.to_string(), "--leader-grace", LEADER_GRACE])
            .arg("--state")
            .arg(state)
            // A terminal's Ctrl-C must reach only this process: it forwards the signal, and workers must not receive
            // it twice.
            .process_group(0)
            .current_dir(&self.order.serve.root)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
    }

    /// Lets the workers finish their steps.
    async fn end(&mut self) {
        self.tell(Signal::TERM);
        while self.workers.iter_mut().any(is_running) {
            sleep(RESTART_INTERVAL).await;
        }
    }

    /// Makes them end immediately: the second signal returns their steps, the last one leaves that to their guards.
    async fn end_now(&mut self) {
        if timeout(END_WITHIN, self.end()).await.is_err() {
            self.tell(Signal::KILL);
        }
        // Each of them has ended, or is about to.
        self.workers.iter_mut().for_each(|worker| drop(worker.wait()));
    }

    fn tell(&mut self, signal: Signal) {
        for worker in self.workers.iter_mut().filter_map(|it| is_running(it).then_some(it)) {
            if let Some(pid) = i32::try_from(worker.id()).ok().and_then(Pid::from_raw) {
                // It fails for a process that has just ended.
                let _ = kill_process(pid, signal);
            }
        }
    }
}

fn is_running(worker: &mut Child) -> bool {
    matches!(worker.try_wait(), Ok(None))
}

fn not_started(error: &io::Error) -> CliError {
    CliError::unreachable(format!("a worker cannot be started: {error}"))
}
