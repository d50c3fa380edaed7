//! The vocabulary of these tests: a fleet of controllers on one database, workers that join it, and what is done to them.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::cuttable_connection::CuttableConnection;
use crate::cluster::arrange::{ClusterAnswer, asked, free_port};
use crate::postgres::server::{PgServer, server};
use crate::run::arrange::{RunFolder, RunningProgram, until};

/// Terms and leases, short, so that tests are.
pub(crate) const TERM: Duration = Duration::from_secs(2);
pub(crate) const TTL: Duration = Duration::from_secs(3);

/// Controllers that share a database, in one folder.
pub(crate) struct HaFleet {
    pub(crate) place: RunFolder,
    pub(crate) members: Vec<HaController>,
    pub(crate) server: &'static PgServer,
    /// The schema of its database that is its own.
    pub(crate) schema: String,
    flags: String,
}

/// A controller.
pub(crate) struct HaController {
    pub(crate) name: String,
    pub(crate) port: u16,
    pub(crate) running: RunningProgram,
    /// Its way to the database.
    pub(crate) cable: CuttableConnection,
    url: String,
}

impl HaFleet {
    /// So many controllers that run nothing themselves, once one of them leads.
    pub(crate) fn start(count: usize) -> Self {
        Self::start_with(count, "--no-exec")
    }

    /// So many controllers with these flags, once one of them leads.
    pub(crate) fn start_with(count: usize, flags: &str) -> Self {
        Self::empty(flags).with(count)
    }

    /// So many controllers that run nothing themselves, on a server that nobody else has: it may be stopped. It ends with
    /// the process of the tests.
    pub(crate) fn on_a_server_of_its_own(count: usize) -> Self {
        Self::on(Box::leak(Box::new(PgServer::start())), "--no-exec").with(count)
    }

    fn with(mut self, count: usize) -> Self {
        for _ in 0..count {
            self.add();
        }
        if count > 0 {
            self.leader();
        }
        self
    }

    /// A database of its own, and nobody there yet.
    pub(crate) fn empty(flags: &str) -> Self {
        Self::on(server(), flags)
    }

    fn on(server: &'static PgServer, flags: &str) -> Self {
        let (_, schema) = server.fresh();
        let (term, ttl) = (TERM.as_secs(), TTL.as_secs());
        let ttl = if flags.contains("--lease-ttl") {
            String::new()
        } else {
            format!("--lease-ttl {ttl}s")
        };
        let flags = format!("--term {term}s {ttl} {flags}");
        Self { place: RunFolder::with(""), members: Vec::new(), server, schema, flags }
    }

    /// One more controller.
    pub(crate) fn add(&mut self) -> &HaController {
        let name = format!("c{}", self.members.len());
        let folder = self.place.config().with_file_name(format!("db-{name}"));
        let cable = CuttableConnection::lay(folder, &self.server.socket());
        let url = self.url_over(&cable);
        let port = free_port();
        let running = self.serve(&name, port, &url, &self.flags);
        self.members.push(HaController { name, port, running, cable, url });
        self.members.last().expect("it was just added")
    }

    /// Starts a controller that is no member: a test looks at how it fares.
    pub(crate) fn stranger(&self, name: &str, flags: &str) -> RunningProgram {
        let flags = format!("{} {flags}", self.flags);
        self.serve(name, free_port(), &self.url(), &flags)
    }

    /// The address of its database, without a cable.
    pub(crate) fn url(&self) -> String {
        self.url_at(&self.server.socket())
    }

    fn url_over(&self, cable: &CuttableConnection) -> String {
        self.url_at(&cable.folder.join("socket"))
    }

    fn url_at(&self, socket: &std::path::Path) -> String {
        let folder = socket.parent().expect("a socket is in a folder").display().to_string();
        let (host, schema) = (folder.replace('/', "%2F"), &self.schema);
        format!("postgres://windlass@{host}/postgres?options=-csearch_path%3D{schema}")
    }

    fn serve(&self, name: &str, port: u16, url: &str, flags: &str) -> RunningProgram {
        let who = format!("--name {name} --state state/{name} --listen 127.0.0.1:{port}");
        let open = if flags.contains("--token-file") { "" } else { "--no-token" };
        self.place.start(&format!("serve --store {url} {who} {open} {flags}"))
    }

    /// Which controller leads, once one does and answers as its leader.
    pub(crate) fn leader(&self) -> usize {
        let mut found = None;
        until("somebody leads", || {
            found = (0..self.members.len()).find(|it| self.leads(*it));
            found.is_some()
        });
        found.expect("it was found")
    }

    /// Which controller leads, once it is another one than this.
    pub(crate) fn leader_other_than(&self, former: usize) -> usize {
        let mut found = None;
        until("another one leads", || {
            found = (0..self.members.len()).find(|it| *it != former && self.leads(*it));
            found.is_some()
        });
        found.expect("it was found")
    }

    pub(crate) fn leads(&self, member: usize) -> bool {
        self.role(member).as_deref() == Some("leader")
    }

    /// What a controller says that it is; nothing if it does not answer.
    pub(crate) fn role(&self, member: usize) -> Option<String> {
        let cluster = self.ask(member, "GET", "/cluster", "")?.json();
        cluster["role"].as_str().map(str::to_owned)
    }

    /// What a controller says of itself and its cluster.
    pub(crate) fn cluster(&self, member: usize) -> Value {
        self.ask(member, "GET", "/cluster", "").expect("it answers").json()
    }

    /// It dies, whatever it was doing.
    pub(crate) fn kill(&mut self, member: usize) {
        let running = &mut self.members[member].running;
        running.signal(Signal::KILL);
        until("the controller is dead", || running.is_over());
    }

    /// It stands still.
    pub(crate) fn stop(&self, member: usize) {
        self.members[member].running.signal(Signal::STOP);
    }

    /// It goes on.
    pub(crate) fn cont(&self, member: usize) {
        self.members[member].running.signal(Signal::CONT);
    }

    /// It is told to end.
    pub(crate) fn end(&self, member: usize) {
        self.members[member].running.signal(Signal::TERM);
    }

    /// The database is out of its reach, and it is not told.
    pub(crate) fn cut(&self, member: usize) {
        self.members[member].cable.cut();
    }

    /// The database is within its reach again.
    pub(crate) fn mend(&self, member: usize) {
        self.members[member].cable.mend();
    }

    /// Another server takes the place of the one that all of them use.
    pub(crate) fn move_to(&mut self, server: &'static PgServer) {
        self.server = server;
        for member in &self.members {
            member.cable.lead_to(&server.socket());
        }
    }

    /// What `psql` prints in the schema of its database.
    pub(crate) fn psql(&self, query: &str) -> String {
        self.server.psql(&format!("SET search_path = {};\n{query}", self.schema))
    }

    /// Waits until `psql` prints this.
    pub(crate) fn until_psql(&self, query: &str, promised: &str) {
        until(&format!("`{query}` gives {promised}"), || self.psql(query) == promised);
    }

    /// Starts again where it was.
    pub(crate) fn restart(&mut self, member: usize) {
        let HaController { name, port, url, .. } = &self.members[member];
        self.members[member].running = self.serve(name, *port, url, &self.flags);
    }

    /// The addresses of all controllers, as `--join` and `--to` take them.
    pub(crate) fn addresses(&self) -> String {
        let address = |it: &HaController| format!("http://127.0.0.1:{}", it.port);
        self.members.iter().map(address).collect::<Vec<_>>().join(",")
    }

    /// A worker of this name, once it has joined.
    pub(crate) fn worker(&self, name: &str, flags: &str) -> RunningProgram {
        let join = format!("worker --join {} --name {name} {flags}", self.addresses());
        let worker = self.place.start(&join);
        until(&format!("{name} has joined"), || self.status_of(name) == "online");
        worker
    }

    pub(crate) fn status_of(&self, worker: &str) -> String {
        let workers = self.get("/workers");
        let mut workers = workers.as_array().expect("a list").iter();
        let known = workers.find(|it| it["name"] == worker);
        known.and_then(|it| it["status"].as_str()).unwrap_or_default().to_owned()
    }

    /// Submits a pipeline to whoever leads, however long that takes, and returns the id of its run.
    pub(crate) fn submit(&self, pipeline: &str) -> String {
        let body = json!({ "text": pipeline }).to_string();
        let mut id = None;
        until("the run is submitted", || {
            let answers =
                (0..self.members.len()).filter_map(|it| self.ask(it, "POST", "/runs", &body));
            let taken = answers.into_iter().find(|it| it.status == 201);
            id = taken.and_then(|it| it.json()["id"].as_str().map(str::to_owned));
            id.is_some()
        });
        id.expect("it was submitted")
    }

    /// Submits a pipeline to this one, which has to take it.
    pub(crate) fn submit_to(&self, member: usize, pipeline: &str) -> String {
        let body = json!({ "text": pipeline }).to_string();
        let answer = self.ask(member, "POST", "/runs", &body).expect("it answers");
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()["id"].as_str().expect("an id").to_owned()
    }

    /// Everything that happened to a run.
    pub(crate) fn events(&self, run: &str) -> Vec<Value> {
        let (mut events, mut after) = (Vec::new(), 0);
        loop {
            let page = self.get(&format!("/runs/{run}/events?after={after}"));
            let page = page.as_array().expect("a list").clone();
            let Some(last) = page.last() else { return events };
            after = last["pos"].as_u64().expect("a position");
            events.extend(page);
        }
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

    /// What whoever leads answers, once somebody does.
    pub(crate) fn get(&self, path: &str) -> Value {
        let mut found = None;
        until(&format!("{path} is answered"), || {
            let answers = (0..self.members.len()).filter_map(|it| self.ask(it, "GET", path, ""));
            found = answers.into_iter().find(|it| it.status == 200);
            found.is_some()
        });
        found.expect("it was answered").json()
    }

    /// One request to one controller; `None` if it does not answer within some seconds.
    pub(crate) fn ask(
        &self,
        member: usize,
        method: &str,
        path: &str,
        body: &str,
    ) -> Option<ClusterAnswer> {
        ask(self.members[member].port, method, path, body)
    }
}

/// How long a controller that stands still is waited for.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);

/// One request on a connection of its own.
pub(crate) fn ask(port: u16, method: &str, path: &str, body: &str) -> Option<ClusterAnswer> {
    asked((port, ANSWERS_WITHIN), (method, path), body)
}
