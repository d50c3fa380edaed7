//! A controller with its API in the process of the test, on a port of its own.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use windlass::core::rate_limit::BucketRate;
use windlass::core::time::{Span, Time};
use windlass::embedded::{EmbeddedNode, LeaderOptions, Stores};
use windlass_controller::api::{
    AllowedHosts, ControllerIdentity, FileTokens, HttpServer, HttpServerLimits, router,
};
use windlass_net::shutdown::ShutdownSender;
use windlass_store::logs::NotifyingLogStore;

use super::http_client::{HttpAnswer, HttpRequest};
use super::waiting::PATIENCE;

/// The token of a controller that requires one.
pub(crate) const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A controller that leads, without a worker of its own.
pub(crate) struct InProcessController {
    pub(crate) node: EmbeddedNode,
    pub(crate) logs: Arc<NotifyingLogStore>,
    pub(crate) address: SocketAddr,
    servers: ShutdownSender,
    serving: JoinHandle<()>,
    token: Option<&'static str>,
    /// The tokens of its file.
    pub(crate) tokens: FileTokens,
}

/// The settings of a controller.
pub(crate) struct ControllerSetup {
    pub(crate) stores: Stores,
    pub(crate) ttl: Span,
    pub(crate) token: Option<&'static str>,
    pub(crate) bounds: HttpServerLimits,
    pub(crate) rate: Option<BucketRate>,
    /// The host names that it accepts; all if `None`.
    pub(crate) hosts: Option<AllowedHosts>,
    /// A clock in the place of the clock of the system.
    pub(crate) clock: Option<fn() -> Time>,
    /// The lines that it logs for refused requests.
    pub(crate) refusals: Arc<Mutex<Vec<String>>>,
}

impl Default for ControllerSetup {
    fn default() -> Self {
        let (stores, ttl) = (Stores::in_memory(), Span::secs(15));
        Self {
            stores,
            ttl,
            token: None,
            bounds: HttpServerLimits::default(),
            rate: None,
            hosts: None,
            clock: None,
            refusals: Arc::default(),
        }
    }
}

impl InProcessController {
    /// A controller with stores in memory.
    pub(crate) async fn start() -> Self {
        Self::with(ControllerSetup::default()).await
    }

    /// A controller with stores in a folder.
    pub(crate) async fn start_in(folder: &Path) -> Self {
        let stores = Stores::open(folder).expect("stores open");
        Self::with(ControllerSetup { stores, ..ControllerSetup::default() }).await
    }

    pub(crate) async fn with(setup: ControllerSetup) -> Self {
        let ControllerSetup { stores, ttl, token, bounds, rate, hosts, clock, refusals } = setup;
        let options = LeaderOptions { ttl, ..LeaderOptions::exclusive("here") };
        let node =
            EmbeddedNode::start_leader(&stores, options).await.expect("no other leader exists");
        let logs = Arc::new(NotifyingLogStore::new(Arc::clone(&stores.logs)));
        let about = ControllerIdentity { cluster: "test".to_owned(), advertise: String::new() };
        let tokens = FileTokens::new(&token.map(str::to_owned).into_iter().collect::<Vec<_>>());
        let mut api = node.api(&stores, &logs, about).with_tokens(tokens.clone());
        api = api.with_refusal_log(move |line| {
            refusals.lock().expect("no test panics here").push(line.to_owned());
        });
        if let Some(hosts) = hosts {
            api = api.with_allowed_hosts(hosts);
        }
        if let Some(clock) = clock {
            api = api.with_clock(clock);
        }
        if let Some(rate) = rate {
            api = api.with_rate_limit(rate);
        }
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        let (servers, ends) = ShutdownSender::new();
        let server = HttpServer::new(listener, router(Arc::new(api))).within(bounds);
        let serving = tokio::spawn(server.run(ends));
        Self { node, logs, address, servers, serving, token, tokens }
    }

    pub(crate) async fn shut_down(self) {
        self.servers.shut_down();
        self.serving.await.expect("it does not panic");
        self.node.shut_down().await.expect("it ends in good order");
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("it listens")
    }

    pub(crate) async fn get(&self, path: &str) -> HttpAnswer {
        self.ask(HttpRequest::get(path)).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> HttpAnswer {
        self.ask(HttpRequest::post(path, body)).await
    }

    /// Sends a request, with the token if the controller requires one.
    pub(crate) async fn ask(&self, mut ask: HttpRequest<'_>) -> HttpAnswer {
        let shown = self.token.map(|token| format!("Bearer {token}"));
        if let Some(token) = &shown {
            ask.headers.push(("authorization", token));
        }
        self.send(&ask.bytes()).await
    }

    /// Sends bytes on a new connection, and reads the answer until the connection is closed.
    pub(crate) async fn send(&self, bytes: &[u8]) -> HttpAnswer {
        let mut stream = self.connect().await;
        // A controller that refuses a request need not read the rest of a large body.
        drop(stream.write_all(bytes).await);
        HttpAnswer::read(&read_to_end(&mut stream).await)
    }

    /// Submits a pipeline, and returns the id of the run.
    pub(crate) async fn submit(&self, text: &str) -> String {
        let answer = self.post("/runs", &serde_json::json!({ "text": text })).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json["id"].as_str().expect("it has an id").to_owned()
    }
}

/// All bytes until the other end closes or resets the connection.
pub(crate) async fn read_to_end(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let read = timeout(PATIENCE, stream.read_to_end(&mut bytes)).await;
    drop(read.expect("the other end closes in time"));
    bytes
}
