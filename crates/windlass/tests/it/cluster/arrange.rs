//! The vocabulary of these tests: a controller, workers that join it, and what is asked of them.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::run::arrange::{RunFolder, RunningProgram, until};

/// A controller and the folder that everybody works in.
pub(crate) struct ClusterFolder {
    pub(crate) place: RunFolder,
    pub(crate) controller: RunningProgram,
    pub(crate) port: u16,
    program: String,
    flags: String,
}

impl ClusterFolder {
    /// A controller with these flags that answers.
    pub(crate) fn start(flags: &str) -> Self {
        Self::start_in(RunFolder::with(""), flags)
    }

    pub(crate) fn start_in(place: RunFolder, flags: &str) -> Self {
        Self::start_as(env!("CARGO_BIN_EXE_windlass"), place, flags)
    }

    /// A controller that is another program.
    pub(crate) fn start_as(program: &str, place: RunFolder, flags: &str) -> Self {
        let (port, program, flags) = (free_port(), program.to_owned(), flags.to_owned());
        let controller = place.start_command(serve(&program, &place, port, &flags));
        let cluster = Self { place, controller, port, program, flags };
        cluster.answers();
        cluster
    }

    /// The controller dies, whatever it was doing.
    pub(crate) fn kill(&mut self) {
        self.controller.signal(Signal::KILL);
        until("the controller is dead", || self.controller.is_over());
    }

    /// Another one, on the same store and at the same place.
    pub(crate) fn restart(&mut self) {
        self.restart_with(|_| {});
    }

    /// Another one, whose command line or environment is changed first.
    pub(crate) fn restart_with(&mut self, change: impl FnOnce(&mut Command)) {
        self.begin_with(change);
        self.answers();
    }

    /// Starts another one, which need not answer.
    pub(crate) fn begin_with(&mut self, change: impl FnOnce(&mut Command)) {
        let mut command = serve(&self.program, &self.place, self.port, &self.flags);
        change(&mut command);
        self.controller = self.place.start_command(command);
    }

    fn answers(&self) {
        until("the controller answers", || {
            matches!(self.try_ask("GET", "/cluster", ""), Some((200, _)))
        });
    }

    /// A worker of this name, once it has joined.
    pub(crate) fn worker(&self, name: &str, flags: &str) -> RunningProgram {
        let worker = self.start_worker(name, flags);
        until(&format!("{name} has joined"), || self.status_of(name) == "online");
        worker
    }

    pub(crate) fn start_worker(&self, name: &str, flags: &str) -> RunningProgram {
        let join = format!("worker --join http://127.0.0.1:{} --name {name} {flags}", self.port);
        self.place.start(&join)
    }

    pub(crate) fn status_of(&self, worker: &str) -> String {
        let workers = self.get("/workers");
        let mut workers = workers.as_array().expect("a list").iter();
        let known = workers.find(|it| it["name"] == worker);
        known.and_then(|it| it["status"].as_str()).unwrap_or_default().to_owned()
    }

    /// Submits a pipeline and returns the id of its run.
    pub(crate) fn submit(&self, pipeline: &str) -> String {
        let mut answered = (0, Value::Null);
        until("a controller that leads takes the run", || {
            answered = self.post("/runs", &json!({ "text": pipeline }));
            answered.0 != 503
        });
        let (status, answer) = answered;
        assert_eq!(status, 201, "{answer}");
        answer["id"].as_str().expect("an id").to_owned()
    }

    /// A run, once it has ended.
    pub(crate) fn ended(&self, run: &str) -> Value {
        let mut shown = Value::Null;
        until(&format!("run {run} has ended"), || {
            shown = self.get(&format!("/runs/{run}"));
            !matches!(shown["status"].as_str(), Some("running" | "cancelling") | None)
        });
        shown
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        let mut answered = None;
        until(&format!("{path} is answered by a controller that leads"), || {
            answered = self.try_ask("GET", path, "");
            answered.as_ref().is_some_and(|(status, _)| *status != 503)
        });
        let (status, body) = answered.expect("it was waited for");
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).expect("it is JSON")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let (status, answer) = self.try_ask("POST", path, &body.to_string()).expect("it answers");
        (status, serde_json::from_str(&answer).unwrap_or(Value::Null))
    }

    /// One request on a connection of its own; `None` if nobody answers.
    pub(crate) fn try_ask(&self, method: &str, path: &str, body: &str) -> Option<(u16, String)> {
        let answer = asked((self.port, Duration::from_mins(1)), (method, path), body)?;
        Some((answer.status, answer.body))
    }
}

/// What was answered to a request.
#[derive(Debug)]
pub(crate) struct ClusterAnswer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl ClusterAnswer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// What a header says; its name in small letters.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(it, _)| it.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// One request on a connection of its own; `None` if nobody answers in time.
pub(crate) fn asked(
    place: (u16, Duration),
    request: (&str, &str),
    body: &str,
) -> Option<ClusterAnswer> {
    asked_with(place, request, "", body)
}

/// The same with more headers, each with the end of its line.
pub(crate) fn asked_with(
    (port, within): (u16, Duration),
    (method, path): (&str, &str),
    headers: &str,
    body: &str,
) -> Option<ClusterAnswer> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(within)).ok()?;
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    let answer = String::from_utf8(answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(ClusterAnswer { status, head: head.to_owned(), body: body.to_owned() })
}

/// How a step of a run that was shown stands.
pub(crate) fn step<'a>(run: &'a Value, name: &str) -> &'a Value {
    let mut steps = run["steps"].as_array().expect("it lists steps").iter();
    steps.find(|step| step["name"] == name).expect("it has that step")
}

/// Who ran the last attempt of a step.
pub(crate) fn worker_of<'a>(run: &'a Value, name: &str) -> &'a str {
    let attempts = step(run, name)["attempts"].as_array().expect("it lists attempts");
    attempts.last().and_then(|it| it["worker"].as_str()).unwrap_or_default()
}

fn serve(program: &str, place: &RunFolder, port: u16, flags: &str) -> Command {
    let mut command = place.program(program);
    command.args(["serve", "--listen", &format!("127.0.0.1:{port}")]);
    // Most tests ask without one; those about tokens say which.
    if !flags.contains("--token-file") {
        command.arg("--no-token");
    }
    command.args(flags.split_whitespace());
    command
}

/// A port that nobody has now. Somebody may take it in the next moment, which is not likely.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    listener.local_addr().expect("it has one").port()
}

/// A worker dies together with its guard: nobody is left to end what it ran, or to tell.
pub(crate) fn kill_with_guard(worker: &RunningProgram) {
    let guard = guard_of(worker.pid());
    // It must not notice that its worker is gone.
    kill_process(guard, Signal::STOP).expect("it is there");
    worker.signal(Signal::KILL);
    kill_process(guard, Signal::KILL).expect("it is there");
}

/// The process that starts the steps of a worker.
pub(crate) fn guard_of(worker: u32) -> Pid {
    let children = format!("/proc/{worker}/task/{worker}/children");
    let mut found = None;
    until("the guard is there", || {
        let tasks =
            std::fs::read_dir(format!("/proc/{worker}/task")).into_iter().flatten().flatten();
        let mut lists = tasks.map(|task| task.path().join("children"));
        let read = |list: std::path::PathBuf| std::fs::read_to_string(list).unwrap_or_default();
        let child = lists.find_map(|list| read(list).split_whitespace().next().map(str::to_owned));
        found = child.and_then(|pid| pid.parse().ok()).and_then(Pid::from_raw);
        found.is_some() || std::fs::metadata(&children).is_err()
    });
    found.expect("it has one")
}
