//! A controller on a port of its own, and requests to it, byte by byte.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

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

/// Longer than any answer takes on a machine that is overloaded.
const PATIENCE: Duration = Duration::from_mins(1);

/// The token of a controller that asks for one.
pub(crate) const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A controller that leads, without a worker of its own.
pub(crate) struct ApiController {
    pub(crate) station: EmbeddedNode,
    pub(crate) logs: Arc<NotifyingLogStore>,
    pub(crate) address: SocketAddr,
    servers: ShutdownSender,
    serving: JoinHandle<()>,
    token: Option<&'static str>,
    /// Those of its file.
    pub(crate) tokens: FileTokens,
}

/// How a controller is set up.
pub(crate) struct ApiSetup {
    pub(crate) stores: Stores,
    pub(crate) ttl: Span,
    pub(crate) token: Option<&'static str>,
    pub(crate) bounds: HttpServerLimits,
    pub(crate) rate: Option<BucketRate>,
    /// What it is known by; by anything if nothing is said.
    pub(crate) hosts: Option<AllowedHosts>,
    /// What it takes for the time of the system, if not that.
    pub(crate) clock: Option<fn() -> Time>,
    /// What it tells of requests that were refused.
    pub(crate) refusals: Arc<Mutex<Vec<String>>>,
}

impl Default for ApiSetup {
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

impl ApiController {
    /// One whose stores end with it.
    pub(crate) async fn start() -> Self {
        Self::with(ApiSetup::default()).await
    }

    /// One whose stores are in a folder.
    pub(crate) async fn start_in(folder: &Path) -> Self {
        let stores = Stores::open(folder).expect("stores open");
        Self::with(ApiSetup { stores, ..ApiSetup::default() }).await
    }

    pub(crate) async fn with(setup: ApiSetup) -> Self {
        let ApiSetup { stores, ttl, token, bounds, rate, hosts, clock, refusals } = setup;
        let office = LeaderOptions { ttl, ..LeaderOptions::exclusive("here") };
        let station = EmbeddedNode::start_leader(&stores, office).await.expect("nobody else leads");
        let logs = Arc::new(NotifyingLogStore::new(Arc::clone(&stores.logs)));
        let about = ControllerIdentity { cluster: "test".to_owned(), advertise: String::new() };
        let tokens = FileTokens::new(&token.map(str::to_owned).into_iter().collect::<Vec<_>>());
        let mut api = station.api(&stores, &logs, about).with_tokens(tokens.clone());
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
        Self { station, logs, address, servers, serving, token, tokens }
    }

    pub(crate) async fn shut_down(self) {
        self.servers.shut_down();
        self.serving.await.expect("it does not panic");
        self.station.shut_down().await.expect("it ends in good order");
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("it listens")
    }

    pub(crate) async fn get(&self, path: &str) -> ApiAnswer {
        self.ask(ApiRequest { method: "GET", path, ..ApiRequest::default() }).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> ApiAnswer {
        let body = body.to_string().into_bytes();
        self.ask(ApiRequest { method: "POST", path, body, ..ApiRequest::default() }).await
    }

    /// A request, with the token if there is one.
    pub(crate) async fn ask(&self, mut ask: ApiRequest<'_>) -> ApiAnswer {
        let shown = self.token.map(|token| format!("Bearer {token}"));
        if let Some(token) = &shown {
            ask.headers.push(("authorization", token));
        }
        self.send(&ask.bytes()).await
    }

    /// Bytes on a connection of their own, and what comes back until it is closed.
    pub(crate) async fn send(&self, bytes: &[u8]) -> ApiAnswer {
        let mut stream = self.connect().await;
        // Who is refused before the end of a large body need not have read it.
        drop(stream.write_all(bytes).await);
        ApiAnswer::read(&read_to_end(&mut stream).await)
    }

    /// A pipeline that is submitted, and its id.
    pub(crate) async fn submit(&self, text: &str) -> String {
        let answer = self.post("/runs", &serde_json::json!({ "text": text })).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json["id"].as_str().expect("it has an id").to_owned()
    }
}

/// Everything that comes until the other end closes, or resets.
pub(crate) async fn read_to_end(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let read = timeout(PATIENCE, stream.read_to_end(&mut bytes)).await;
    drop(read.expect("the other end closes in time"));
    bytes
}

/// A request.
#[derive(Default)]
pub(crate) struct ApiRequest<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) headers: Vec<(&'a str, &'a str)>,
    pub(crate) body: Vec<u8>,
}

impl ApiRequest<'_> {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let Self { method, path, headers, body } = self;
        let length = body.len().to_string();
        let own = [("host", "test"), ("connection", "close"), ("content-length", &*length)];
        let headers = own.iter().chain(headers).map(|(name, value)| format!("{name}: {value}\r\n"));
        let headers: String = headers.collect();
        let head = format!("{method} {path} HTTP/1.1\r\n{headers}\r\n");
        [head.into_bytes(), body.clone()].concat()
    }
}

/// What came back.
#[derive(Debug)]
pub(crate) struct ApiAnswer {
    /// 0 if nothing did.
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    /// The body, if it is JSON.
    pub(crate) json: Value,
}

impl ApiAnswer {
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(bytes.len());
        let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        let body = bytes.get(end + 4..).unwrap_or_default().to_vec();
        let json = serde_json::from_slice(&body).unwrap_or_default();
        Self { status, head, body, json }
    }

    /// Its status and the code of its problem.
    pub(crate) fn refusal(&self) -> (u16, &str) {
        let is_problem = self.head.contains("content-type: application/problem+json");
        (self.status, if is_problem { self.json["code"].as_str().unwrap_or("") } else { "" })
    }
}
