//! One controller process, and the workers that join it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::cluster::{TestCluster, free_port};
use super::http_client::{HttpAnswer, HttpRequest};
use super::program::{FinishedProgram, RunningProgram, WINDLASS};
use super::project_folder::ProjectFolder;
use super::waiting::until;

/// The flags of a controller whose workers join by mailbox. Leases last a minute: a step that moves sooner does not move
/// because its lease has expired.
const MAILBOX_FLAGS: &str = "--no-exec --lease-ttl 1m";

/// A controller, and the folder in which it and its workers run.
pub(crate) struct LocalCluster {
    pub(crate) project: ProjectFolder,
    pub(crate) controller: RunningProgram,
    pub(crate) port: u16,
    /// The address of the controller.
    pub(crate) url: String,
    /// The address that workers join: the controller's, or that of a message broker.
    join: String,
    program: PathBuf,
    flags: String,
}

impl LocalCluster {
    /// A controller with these flags.
    pub(crate) fn start(flags: &str) -> Self {
        Self::start_in(ProjectFolder::with(""), flags)
    }

    /// A controller in this folder. It needs no token unless the flags name a file of tokens.
    pub(crate) fn start_in(project: ProjectFolder, flags: &str) -> Self {
        Self::start_as(WINDLASS, project, flags)
    }

    /// A controller that is another program.
    pub(crate) fn start_as(program: impl AsRef<Path>, project: ProjectFolder, flags: &str) -> Self {
        let (port, program) = (free_port(), program.as_ref());
        let command = serve(program, &project, port, flags);
        Self::start_by(project, (program, port, flags), command)
    }

    /// A controller whose workers join through a message broker.
    pub(crate) fn with_link(link: &str) -> Self {
        Self::with_link_as(WINDLASS, ProjectFolder::with(""), link)
    }

    /// The same with another program.
    pub(crate) fn with_link_as(
        program: impl AsRef<Path>,
        project: ProjectFolder,
        link: &str,
    ) -> Self {
        let cluster = Self::start_as(program, project, &format!("{MAILBOX_FLAGS} --link {link}"));
        Self { join: link.to_owned(), ..cluster }
    }

    /// A controller that this command starts on this port.
    pub(crate) fn start_by(
        project: ProjectFolder,
        (program, port, flags): (&Path, u16, &str),
        command: Command,
    ) -> Self {
        let controller = project.start_command(command);
        let scheme = if flags.contains("--tls-cert") { "https" } else { "http" };
        let url = format!("{scheme}://127.0.0.1:{port}");
        let (join, program, flags) = (url.clone(), program.to_owned(), flags.to_owned());
        let cluster = Self { project, controller, port, url, join, program, flags };
        cluster.until_listening();
        cluster
    }

    /// The same cluster, whose workers join at this address.
    pub(crate) fn joined_at(self, address: &str) -> Self {
        Self { join: address.to_owned(), ..self }
    }

    /// Kills the controller, whatever it does.
    pub(crate) fn kill(&mut self) {
        self.controller.kill();
    }

    /// Starts a controller on the same store and the same port.
    pub(crate) fn restart(&mut self) {
        self.restart_with(|_| {});
    }

    /// The same on another store.
    pub(crate) fn restart_on(&mut self, store: &str) {
        let words: Vec<&str> = self.flags.split_whitespace().collect();
        let named =
            words.iter().position(|word| *word == "--store").expect("the flags name a store");
        self.flags = words[..named]
            .iter()
            .chain(["--store", store].iter())
            .chain(&words[named + 2..])
            .fold(String::new(), |flags, word| flags + word + " ");
        self.restart();
    }

    /// The same with a change of the command line or the environment.
    pub(crate) fn restart_with(&mut self, change: impl FnOnce(&mut Command)) {
        self.begin_with(change);
        self.until_listening();
    }

    /// The same without waiting until the controller listens.
    pub(crate) fn begin_with(&mut self, change: impl FnOnce(&mut Command)) {
        let mut command = serve(&self.program, &self.project, self.port, &self.flags);
        change(&mut command);
        self.controller = self.project.start_command(command);
    }

    /// The controller prints its banner when it listens and its own worker has joined. Some flags of the log remove it.
    fn until_listening(&self) {
        let banner = format!(" on {}\n", self.url);
        let has_banner = !self.flags.contains("--log-");
        until("the controller listens", || {
            if has_banner {
                return self.controller.said().contains(&banner);
            }
            self.try_get("/cluster").is_some_and(|it| it.status == 200)
        });
    }

    /// Waits until the controller leads.
    pub(crate) fn until_led(&self) {
        until("the controller leads", || {
            self.try_get("/workers").is_some_and(|it| it.status == 200)
        });
    }

    /// The host and the port of the controller.
    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let answer = self.send(&HttpRequest::post(path, body)).expect("the controller answers");
        (answer.status, answer.json)
    }

    /// The answer to a GET; `None` if the controller does not answer.
    pub(crate) fn try_get(&self, path: &str) -> Option<HttpAnswer> {
        self.send(&HttpRequest::get(path))
    }

    /// The answer to a GET, whatever its status is.
    pub(crate) fn answer(&self, path: &str) -> HttpAnswer {
        self.try_get(path).expect("the controller answers")
    }

    fn send(&self, request: &HttpRequest<'_>) -> Option<HttpAnswer> {
        request.send(self.port, self.answers_within())
    }

    /// Runs a command of the client to its end.
    pub(crate) fn run(&self, line: &str) -> FinishedProgram {
        self.project.run(&self.client_line(line))
    }

    /// The standard output of a command of the client, which has to succeed.
    pub(crate) fn data(&self, line: &str) -> String {
        self.project.data(&self.client_line(line))
    }

    /// Starts a command of the client.
    pub(crate) fn begin(&self, line: &str) -> RunningProgram {
        self.project.start(&self.client_line(line))
    }

    /// Submits the pipeline of the folder by the client, and returns the id of the run.
    pub(crate) fn submit_project(&self) -> String {
        self.data("submit").trim().to_owned()
    }

    /// The status of a run that has ended.
    pub(crate) fn status_at_end(&self, run: &str) -> String {
        self.ended(run)["status"].as_str().unwrap_or_default().to_owned()
    }

    /// A run, as `show` prints it.
    pub(crate) fn show(&self, run: &str) -> Value {
        serde_json::from_str(&self.data(&format!("show {run} --json"))).expect("it is JSON")
    }

    fn client_line(&self, line: &str) -> String {
        format!("{line} --to {}", self.url)
    }
}

impl TestCluster for LocalCluster {
    fn ports(&self) -> Vec<u16> {
        vec![self.port]
    }

    fn start_worker(&self, name: &str, flags: &str) -> RunningProgram {
        let mut command = self.project.program(&self.program);
        command.args(["worker", "--join", &self.join, "--name", name]);
        command.args(flags.split_whitespace());
        self.project.start_command(command)
    }
}

/// The command that starts a controller.
fn serve(program: &Path, project: &ProjectFolder, port: u16, flags: &str) -> Command {
    let mut command = project.program(program);
    command.args(["serve", "--listen", &format!("127.0.0.1:{port}")]);
    if !flags.contains("--token-file") && !flags.contains("--no-token") {
        command.arg("--no-token");
    }
    command.args(flags.split_whitespace());
    command
}
