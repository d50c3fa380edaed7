//! Requests to a controller over pooled connections.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fmt, io};

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Bytes};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::time::timeout;

use super::controller_address::{ControllerAddress, may_redirect};
use super::dialer::Dialer;
use super::headers::{LEADER_HEADER, PROTOCOL, PROTOCOL_HEADER, ProblemDetails, WORKER_HEADER};
use super::loopback::loopback_tokens;
use crate::credentials::WorkerSecret;

/// Size of the read buffer of a connection. It is enough for the head of a response; the rest of a body waits at the sender.
/// Every worker has these buffers.
const READ_MAX: usize = 32 << 10;

/// Maximum number of pooled connections: a parked exchange, the next exchange, output, and a spare one.
const IDLE_MAX: usize = 4;

/// Maximum size of a response; a page of events or of a log and every reply are smaller.
const RESPONSE_MAX: usize = 16 << 20;

/// Deadline for a new connection.
const DIAL_WITHIN: Duration = Duration::from_secs(5);

/// The credentials that a client sends with each request.
#[derive(Clone, Default)]
pub struct ClientCredentials {
    /// The token of the cluster, if it requires one.
    pub token: Option<String>,
    /// The worker's secret, if the client is a worker.
    pub worker: Option<WorkerSecret>,
}

impl fmt::Debug for ClientCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = self.token.as_ref().map(|_| "…");
        f.debug_struct("Credentials").field("token", &token).field("worker", &self.worker).finish()
    }
}

/// A successful response.
#[derive(Clone, Debug)]
pub struct HttpResponse {
    /// The status, 2xx or 304.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// Why a request failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum HttpCallError {
    /// The controller did not respond, or not in time.
    #[error("{address} cannot be reached: {reason}")]
    Unreachable {
        /// The address of the controller.
        address: ControllerAddress,
        /// The reason.
        reason: String,
    },
    /// The controller is not the leader.
    #[error("{address} does not lead{}", leader.as_ref().map(|it| format!("; {it} does")).unwrap_or_default())]
    NotLeader {
        /// The address of the controller.
        address: ControllerAddress,
        /// The address of the leader, if the controller knows it.
        leader: Option<String>,
    },
    /// The controller refused the request.
    #[error("{}", .0.detail)]
    Refused(Box<ProblemDetails>),
}

/// A client of controllers.
#[derive(Debug)]
pub struct HttpClient {
    dial: Arc<dyn Dialer>,
    credentials: ClientCredentials,
    idle: Mutex<Vec<IdleConnection>>,
    answer_max: usize,
    /// Whether a request that fails on a pooled connection is sent once more on a new one.
    resends: bool,
    /// Tokens of controllers on this machine that were found.
    found: Mutex<Vec<(ControllerAddress, String)>>,
    /// Finds these tokens.
    find_tokens: fn(&ControllerAddress) -> Vec<String>,
}

/// An idle connection.
#[derive(Debug)]
struct IdleConnection {
    address: ControllerAddress,
    sender: SendRequest<Full<Bytes>>,
}

/// A request.
#[derive(Clone, Debug)]
pub struct HttpRequest<'a> {
    /// The method.
    pub method: Method,
    /// The address of the controller.
    pub address: &'a ControllerAddress,
    /// The path with the query.
    pub path: &'a str,
    /// The content type of the body.
    pub content: &'static str,
    /// The body.
    pub body: Bytes,
    /// Further headers.
    pub headers: &'a [(&'a str, &'a str)],
}

impl<'a> HttpRequest<'a> {
    /// Creates a GET request.
    pub fn get(address: &'a ControllerAddress, path: &'a str) -> Self {
        let (content, body) = ("application/json", Bytes::new());
        Self { method: Method::GET, address, path, content, body, headers: &[] }
    }

    /// Creates a POST request.
    pub fn post(
        address: &'a ControllerAddress,
        path: &'a str,
        body: &impl serde::Serialize,
    ) -> Self {
        let (content, body) = ("application/json", Bytes::from(json_body(body)));
        Self { method: Method::POST, address, path, content, body, headers: &[] }
    }

    /// Adds a header.
    #[must_use]
    pub fn with(self, headers: &'a [(&'a str, &'a str)]) -> Self {
        Self { headers, ..self }
    }
}

/// Encodes a message in a buffer of exactly its size. A buffer that grows by doubling can be twice as large, and glibc, after
/// it has freed one piece of 128 KiB, keeps pieces of that size instead of returning them to the system.
fn json_body(message: &impl serde::Serialize) -> Vec<u8> {
    let mut size = ByteCounter(0);
    serde_json::to_writer(&mut size, message).expect("messages are plain data");
    let mut bytes = Vec::with_capacity(size.0);
    serde_json::to_writer(&mut bytes, message).expect("messages are plain data");
    bytes
}

/// Counts written bytes.
struct ByteCounter(usize);

impl io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl HttpClient {
    /// Creates a client with this dialer and these credentials.
    pub fn new(dial: Arc<dyn Dialer>, credentials: ClientCredentials) -> Self {
        let (idle, found) = (Mutex::default(), Mutex::default());
        Self {
            dial,
            credentials,
            idle,
            answer_max: RESPONSE_MAX,
            resends: true,
            found,
            find_tokens: loopback_tokens,
        }
    }

    /// Creates another client with the same dialer and credentials, and with connections of its own.
    #[must_use]
    pub fn sibling(&self) -> Self {
        let client = Self::new(Arc::clone(&self.dial), self.credentials.clone());
        Self { find_tokens: self.find_tokens, ..client }
    }

    /// Sets the maximum size of a response.
    #[must_use]
    pub fn with_response_limit(self, answer_max: usize) -> Self {
        Self { answer_max, ..self }
    }

    /// Makes every failed request an error: its sender finds out what is to be sent again.
    #[must_use]
    pub fn without_resends(self) -> Self {
        Self { resends: false, ..self }
    }

    /// Returns the credentials.
    pub const fn credentials(&self) -> &ClientCredentials {
        &self.credentials
    }

    /// Returns whether the client, which was given these addresses, may follow a redirect to another address.
    pub fn may_redirect(&self, given: &[ControllerAddress], to: &ControllerAddress) -> bool {
        may_redirect(given, to, self.dial.trusts_only_cluster_ca())
    }

    /// Sends a GET request.
    pub async fn get(
        &self,
        address: &ControllerAddress,
        path: &str,
        within: Duration,
    ) -> Result<HttpResponse, HttpCallError> {
        self.call(HttpRequest::get(address, path), within).await
    }

    /// Sends a POST request.
    pub async fn post(
        &self,
        address: &ControllerAddress,
        path: &str,
        body: &impl serde::Serialize,
        within: Duration,
    ) -> Result<HttpResponse, HttpCallError> {
        self.call(HttpRequest::post(address, path, body), within).await
    }

    /// Sends a request. A request that fails on a pooled connection is sent once more on a new one, because the peer may have
    /// closed the connection long ago. Every request may be repeated, unless [`without_resends`](Self::without_resends)
    /// says otherwise.
    pub async fn call(
        &self,
        ask: HttpRequest<'_>,
        within: Duration,
    ) -> Result<HttpResponse, HttpCallError> {
        let address = ask.address.clone();
        let called = timeout(within, async {
            let shown = self.token(ask.address);
            let answered = self.call_with(&ask, shown.as_deref()).await?;
            if answered.status != StatusCode::UNAUTHORIZED {
                return Ok(answered);
            }
            self.call_with_other_tokens(&ask, shown.as_deref(), answered).await
        });
        let answered = called.await.unwrap_or_else(|_| Err("no response in time".to_owned()));
        let unreachable = |reason| HttpCallError::Unreachable { address: address.clone(), reason };
        check_status(answered.map_err(unreachable)?, &address)
    }

    /// A controller on this machine creates a new token at each start, and a token that was found may belong to a controller that
    /// has ended, so each is tried once.
    async fn call_with_other_tokens(
        &self,
        ask: &HttpRequest<'_>,
        shown: Option<&str>,
        mut answered: HttpResponse,
    ) -> Result<HttpResponse, String> {
        for other in self.other_tokens(ask.address, shown) {
            answered = self.call_with(ask, Some(&other)).await?;
            if answered.status != StatusCode::UNAUTHORIZED {
                let mut found = self.found_tokens();
                found.retain(|(known, _)| known != ask.address);
                found.push((ask.address.clone(), other));
                break;
            }
        }
        Ok(answered)
    }

    async fn call_with(
        &self,
        ask: &HttpRequest<'_>,
        token: Option<&str>,
    ) -> Result<HttpResponse, String> {
        if let Some(kept) = self.idle_connection(ask.address) {
            let answered = self.send(kept, ask, token).await;
            if answered.is_ok() || !self.resends {
                return answered;
            }
        }
        let connection = self.connect(ask.address).await?;
        self.send(connection, ask, token).await
    }

    fn idle_connection(&self, address: &ControllerAddress) -> Option<SendRequest<Full<Bytes>>> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|kept| kept.sender.is_ready());
        let found = idle.iter().rposition(|kept| kept.address == *address)?;
        Some(idle.swap_remove(found).sender)
    }

    async fn connect(
        &self,
        address: &ControllerAddress,
    ) -> Result<SendRequest<Full<Bytes>>, String> {
        let dialled = timeout(DIAL_WITHIN, self.dial.dial(address)).await;
        let stream = dialled.map_err(|_| "no connection in time".to_owned())?;
        let stream = stream.map_err(|error| error.to_string())?;
        let handshake =
            http1::Builder::new().max_buf_size(READ_MAX).handshake(TokioIo::new(stream));
        let (sender, connection) = handshake.await.map_err(|error| error.to_string())?;
        // The task ends when the sender is dropped or the peer closes the connection.
        tokio::spawn(connection);
        Ok(sender)
    }

    async fn send(
        &self,
        mut sender: SendRequest<Full<Bytes>>,
        ask: &HttpRequest<'_>,
        token: Option<&str>,
    ) -> Result<HttpResponse, String> {
        let request = self.request(ask, token)?;
        let answered = sender.send_request(request).await.map_err(|error| error_cause(&error))?;
        let answered = collect(answered, self.answer_max).await?;
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_MAX && !sender.is_closed() {
            idle.push(IdleConnection { address: ask.address.clone(), sender });
        }
        Ok(answered)
    }

    /// Returns the token that was given, else the one that a controller on this machine keeps for this user.
    fn token(&self, address: &ControllerAddress) -> Option<String> {
        if self.credentials.token.is_some() || !address.is_loopback() {
            return self.credentials.token.clone();
        }
        let mut found = self.found_tokens();
        if let Some((_, token)) = found.iter().find(|(known, _)| known == address) {
            return Some(token.clone());
        }
        let token = (self.find_tokens)(address).into_iter().next()?;
        found.push((address.clone(), token.clone()));
        Some(token)
    }

    /// Returns the current tokens of controllers on this machine, except the one that was just refused.
    fn other_tokens(&self, address: &ControllerAddress, shown: Option<&str>) -> Vec<String> {
        if self.credentials.token.is_some() {
            return Vec::new();
        }
        let is_other = |token: &str| Some(token) != shown;
        let mut found = self.found_tokens();
        found.retain(|(known, token)| known != address || is_other(token));
        // Another request of this client may have found the right token.
        let known =
            found.iter().filter(|(known, _)| known == address).map(|(_, token)| token.clone());
        let mut others: Vec<String> = known.collect();
        drop(found);
        for token in (self.find_tokens)(address).into_iter().filter(|token| is_other(token)) {
            if !others.contains(&token) {
                others.push(token);
            }
        }
        others
    }

    fn found_tokens(&self) -> MutexGuard<'_, Vec<(ControllerAddress, String)>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn request(
        &self,
        ask: &HttpRequest<'_>,
        token: Option<&str>,
    ) -> Result<Request<Full<Bytes>>, String> {
        let host = format!("{}:{}", ask.address.host(), ask.address.port());
        let mut request = Request::builder()
            .method(&ask.method)
            .uri(ask.path)
            .header(HOST, host)
            .header(PROTOCOL_HEADER, PROTOCOL)
            .header(CONTENT_TYPE, ask.content);
        for (name, value) in ask.headers {
            request = request.header(*name, *value);
        }
        if let Some(token) = token {
            request = request.header(AUTHORIZATION, secret(&format!("Bearer {token}"))?);
        }
        if let Some(worker) = &self.credentials.worker {
            request = request.header(WORKER_HEADER, secret(&worker.to_hex())?);
        }
        request.body(Full::new(ask.body.clone())).map_err(|error| error.to_string())
    }
}

fn secret(text: &str) -> Result<HeaderValue, String> {
    let value = HeaderValue::from_str(text);
    let mut value =
        value.map_err(|_| "the token has characters that a header cannot contain".to_owned())?;
    value.set_sensitive(true);
    Ok(value)
}

/// Reads the whole body into one buffer. Each frame is freed as soon as it is copied, so that at most one is held beside the
/// buffer.
async fn collect(
    answered: Response<hyper::body::Incoming>,
    most: usize,
) -> Result<HttpResponse, String> {
    let (head, mut body) = answered.into_parts();
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    let mut whole = Vec::with_capacity(announced.min(most));
    while let Some(part) = body.frame().await {
        // Trailers are ignored.
        let Ok(bytes) = part.map_err(|error| error_cause(&error))?.into_data() else { continue };
        if whole.len() + bytes.len() > most {
            return Err(format!("the response has more than {most} bytes"));
        }
        whole.extend_from_slice(&bytes);
    }
    Ok(HttpResponse { status: head.status, headers: head.headers, body: whole.into() })
}

fn error_cause(error: &hyper::Error) -> String {
    use std::error::Error as _;
    match error.source() {
        Some(source) => source.to_string(),
        None => error.to_string(),
    }
}

/// Distinguishes a success, a refusal, and the response of a controller that does not lead.
fn check_status(
    answered: HttpResponse,
    address: &ControllerAddress,
) -> Result<HttpResponse, HttpCallError> {
    if answered.status.is_success() || answered.status == StatusCode::NOT_MODIFIED {
        return Ok(answered);
    }
    if answered.status == StatusCode::SERVICE_UNAVAILABLE {
        let leader = answered.headers.get(LEADER_HEADER);
        let leader = leader.and_then(|value| value.to_str().ok()).filter(|it| !it.is_empty());
        let leader = leader.map(str::to_owned);
        return Err(HttpCallError::NotLeader { address: address.clone(), leader });
    }
    let problem = serde_json::from_slice(&answered.body).unwrap_or_else(|_| ProblemDetails {
        code: "unknown".to_owned(),
        title: "response is not from windlass".to_owned(),
        status: answered.status.as_u16(),
        detail: format!("{address} answered {}; is it a windlass controller?", answered.status),
        problems: Vec::new(),
        leader: None,
        object: None,
    });
    Err(HttpCallError::Refused(Box::new(problem)))
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod client_tests;
