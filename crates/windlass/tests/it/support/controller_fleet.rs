//! Several controllers on one PostgreSQL database, as processes, and the workers that join them.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::cluster::{TestCluster, free_port};
use super::cuttable_connection::CuttableConnection;
use super::http_client::{HttpAnswer, HttpRequest};
use super::postgres_server::{PgServer, server};
use super::program::RunningProgram;
use super::project_folder::ProjectFolder;
use super::waiting::until;

/// The durations of leader leases and of leases, short for quick tests.
pub(crate) const TERM: Duration = Duration::from_secs(2);
pub(crate) const TTL: Duration = Duration::from_secs(3);

/// Controllers that share a database. All processes run in one folder.
pub(crate) struct ControllerFleet {
    pub(crate) project: ProjectFolder,
    pub(crate) members: Vec<FleetController>,
    pub(crate) server: &'static PgServer,
    /// The schema of the fleet in the database.
    pub(crate) schema: String,
    flags: String,
}

/// A controller of a fleet.
pub(crate) struct FleetController {
    pub(crate) name: String,
    pub(crate) port: u16,
    pub(crate) running: RunningProgram,
    /// The connection to the database.
    pub(crate) connection: CuttableConnection,
    url: String,
}

impl ControllerFleet {
    /// This many controllers that run no steps; one of them leads.
    pub(crate) fn start(count: usize) -> Self {
        Self::start_with(count, "--no-exec")
    }

    /// This many controllers with these flags; one of them leads.
    pub(crate) fn start_with(count: usize, flags: &str) -> Self {
        Self::empty(flags).with(count)
    }

    /// This many controllers that run no steps, on a server that no other test uses: the test may stop it. The server ends
    /// with the process of the tests.
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

    /// A schema of its own without controllers.
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
        Self { project: ProjectFolder::with(""), members: Vec::new(), server, schema, flags }
    }

    /// Starts one more controller.
    pub(crate) fn add(&mut self) -> &FleetController {
        let name = format!("c{}", self.members.len());
        let folder = self.project.config().with_file_name(format!("db-{name}"));
        let connection = CuttableConnection::new(folder, &self.server.socket());
        let url = self.url_over(&connection);
        let port = free_port();
        let running = self.serve(&name, port, &url, &self.flags);
        self.members.push(FleetController { name, port, running, connection, url });
        self.members.last().expect("it was just added")
    }

    /// Starts a controller that is no member of the fleet.
    pub(crate) fn stranger(&self, name: &str, flags: &str) -> RunningProgram {
        let flags = format!("{} {flags}", self.flags);
        self.serve(name, free_port(), &self.url(), &flags)
    }

    /// The address of the database, past the connections that a test can cut.
    pub(crate) fn url(&self) -> String {
        self.url_at(&self.server.socket())
    }

    fn url_over(&self, connection: &CuttableConnection) -> String {
        self.url_at(&connection.folder.join("socket"))
    }

    fn url_at(&self, socket: &std::path::Path) -> String {
        let folder = socket.parent().expect("a socket is in a folder").display().to_string();
        let (host, schema) = (folder.replace('/', "%2F"), &self.schema);
        format!("postgres://windlass@{host}/postgres?options=-csearch_path%3D{schema}")
    }

    fn serve(&self, name: &str, port: u16, url: &str, flags: &str) -> RunningProgram {
        let flags_of_member =
            format!("--name {name} --state state/{name} --listen 127.0.0.1:{port}");
        let open = if flags.contains("--token-file") { "" } else { "--no-token" };
        self.project.start(&format!("serve --store {url} {flags_of_member} {open} {flags}"))
    }

    /// Waits until a controller leads, and returns its index.
    pub(crate) fn leader(&self) -> usize {
        let mut found = None;
        until("a controller leads", || {
            found = (0..self.members.len()).find(|it| self.leads(*it));
            found.is_some()
        });
        found.expect("it was found")
    }

    /// Waits until another controller than this leads, and returns its index.
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

    /// The role of a controller; `None` if it does not answer.
    pub(crate) fn role(&self, member: usize) -> Option<String> {
        let cluster = self.try_get(member, "/cluster")?.json;
        cluster["role"].as_str().map(str::to_owned)
    }

    /// The state of a controller and its cluster, as it reports them.
    pub(crate) fn cluster(&self, member: usize) -> Value {
        self.try_get(member, "/cluster").expect("the controller answers").json
    }

    /// Kills a controller.
    pub(crate) fn kill(&mut self, member: usize) {
        self.members[member].running.kill();
    }

    /// Stops a controller with SIGSTOP.
    pub(crate) fn stop(&self, member: usize) {
        self.members[member].running.signal(Signal::STOP);
    }

    /// Continues a controller with SIGCONT.
    pub(crate) fn cont(&self, member: usize) {
        self.members[member].running.signal(Signal::CONT);
    }

    /// Asks a controller to end with SIGTERM.
    pub(crate) fn end(&self, member: usize) {
        self.members[member].running.signal(Signal::TERM);
    }

    /// Cuts the connection of a controller to the database: its packets are dropped.
    pub(crate) fn cut(&self, member: usize) {
        self.members[member].connection.cut();
    }

    /// Restores the connection of a controller to the database.
    pub(crate) fn mend(&self, member: usize) {
        self.members[member].connection.mend();
    }

    /// Connects all controllers to another server.
    pub(crate) fn move_to(&mut self, server: &'static PgServer) {
        self.server = server;
        for member in &self.members {
            member.connection.lead_to(&server.socket());
        }
    }

    /// The output of `psql` in the schema of the fleet.
    pub(crate) fn psql(&self, query: &str) -> String {
        self.server.psql(&format!("SET search_path = {};\n{query}", self.schema))
    }

    /// Waits until `psql` prints `promised`.
    pub(crate) fn until_psql(&self, query: &str, promised: &str) {
        until(&format!("`{query}` gives {promised}"), || self.psql(query) == promised);
    }

    /// Starts a controller again with the same port and state.
    pub(crate) fn restart(&mut self, member: usize) {
        let FleetController { name, port, url, .. } = &self.members[member];
        self.members[member].running = self.serve(name, *port, url, &self.flags);
    }

    /// The addresses of all controllers, in the form of `--join` and `--to`.
    pub(crate) fn addresses(&self) -> String {
        let address = |it: &FleetController| format!("http://127.0.0.1:{}", it.port);
        self.members.iter().map(address).collect::<Vec<_>>().join(",")
    }

    /// Submits a pipeline to this controller, which has to accept it.
    pub(crate) fn submit_to(&self, member: usize, pipeline: &str) -> String {
        let request = HttpRequest::post("/runs", &json!({ "text": pipeline }));
        let answer = self.send(member, &request).expect("the controller answers");
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json["id"].as_str().expect("a run has an id").to_owned()
    }

    /// The answer of one controller to a GET; `None` if it does not answer in time.
    pub(crate) fn try_get(&self, member: usize, path: &str) -> Option<HttpAnswer> {
        self.send(member, &HttpRequest::get(path))
    }

    /// The answer of one controller to a POST; `None` if it does not answer in time.
    pub(crate) fn try_post(&self, member: usize, path: &str, body: &Value) -> Option<HttpAnswer> {
        self.send(member, &HttpRequest::post(path, body))
    }

    fn send(&self, member: usize, request: &HttpRequest<'_>) -> Option<HttpAnswer> {
        request.send(self.members[member].port, ANSWERS_WITHIN)
    }
}

impl TestCluster for ControllerFleet {
    fn ports(&self) -> Vec<u16> {
        self.members.iter().map(|member| member.port).collect()
    }

    fn answers_within(&self) -> Duration {
        ANSWERS_WITHIN
    }

    fn start_worker(&self, name: &str, flags: &str) -> RunningProgram {
        let join = self.addresses();
        self.project.start(&format!("worker --join {join} --name {name} {flags}"))
    }
}

/// The longest wait for the answer of a controller. A stopped controller does not answer.
pub(crate) const ANSWERS_WITHIN: Duration = Duration::from_secs(5);
