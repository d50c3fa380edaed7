//! Requests to a controller, over connections that are kept.

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

use super::dial::Dial;
use super::follow::{Place, may_follow};
use super::loopback::loopback_tokens;
use super::wire::{LEADER_HEADER, PROTOCOL, PROTOCOL_HEADER, Problem, WORKER_HEADER};
use crate::link::WorkerSecret;

/// Bytes that are read ahead of what is made of them, for each connection. The head of an answer is short; of a body, the rest
/// waits with whoever sends it. It is memory of every worker.
const READ_MAX: usize = 32 << 10;

/// Connections that are kept for later: an exchange that is parked, the next one, output, and one to spare.
const IDLE_MAX: usize = 4;

/// The most bytes of an answer: a page of events or of a log is smaller, and so is every reply.
const ANSWER_MAX: usize = 16 << 20;

/// How long a connection may take to be made.
const DIAL_WITHIN: Duration = Duration::from_secs(5);

/// What a client shows of itself with each request.
#[derive(Clone, Default)]
pub struct Credentials {
    /// The cluster's token, where it asks for one.
    pub token: Option<String>,
    /// Who the worker is that speaks, if one does.
    pub worker: Option<WorkerSecret>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = self.token.as_ref().map(|_| "…");
        f.debug_struct("Credentials").field("token", &token).field("worker", &self.worker).finish()
    }
}

/// An answer that is no refusal.
#[derive(Clone, Debug)]
pub struct Answered {
    /// Its status, one of 2xx or 304.
    pub status: StatusCode,
    /// What it says beside its body.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
}

/// Why a request has no good answer.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// Nobody answered, or not in time.
    #[error("{place} cannot be reached: {reason}")]
    Unreachable {
        /// Who was asked.
        place: Place,
        /// What went wrong.
        reason: String,
    },
    /// Whoever answered does not lead.
    #[error("{place} does not lead{}", leader.as_ref().map(|it| format!("; {it} does")).unwrap_or_default())]
    NotLeader {
        /// Who was asked.
        place: Place,
        /// Who leads, as far as it knows.
        leader: Option<String>,
    },
    /// It was refused.
    #[error("{}", .0.detail)]
    Refused(Box<Problem>),
}

/// A way to controllers.
#[derive(Debug)]
pub struct Client {
    dial: Arc<dyn Dial>,
    credentials: Credentials,
    idle: Mutex<Vec<Idle>>,
    answer_max: usize,
    /// Tokens of controllers of this machine that were found.
    found: Mutex<Vec<(Place, String)>>,
    /// Finds them.
    find_tokens: fn(&Place) -> Vec<String>,
}

/// A connection that nobody uses.
#[derive(Debug)]
struct Idle {
    place: Place,
    sender: SendRequest<Full<Bytes>>,
}

/// What a request carries.
#[derive(Clone, Debug)]
pub struct Ask<'a> {
    /// What is to be done there.
    pub method: Method,
    /// Who is asked.
    pub place: &'a Place,
    /// For what, with the query.
    pub path: &'a str,
    /// What the body is.
    pub content: &'static str,
    /// The body.
    pub body: Bytes,
    /// What else is said.
    pub headers: &'a [(&'a str, &'a str)],
}

impl<'a> Ask<'a> {
    /// Asks to read something.
    pub fn get(place: &'a Place, path: &'a str) -> Self {
        let (content, body) = ("application/json", Bytes::new());
        Self { method: Method::GET, place, path, content, body, headers: &[] }
    }

    /// Asks to have something done.
    pub fn post(place: &'a Place, path: &'a str, body: &impl serde::Serialize) -> Self {
        let (content, body) = ("application/json", Bytes::from(json(body)));
        Self { method: Method::POST, place, path, content, body, headers: &[] }
    }

    /// The same, with something else said in its head.
    #[must_use]
    pub fn with(self, headers: &'a [(&'a str, &'a str)]) -> Self {
        Self { headers, ..self }
    }
}

/// A message in a buffer of just its size. One that grew by doubling would be up to twice as large, and glibc, once a piece of
/// 128 KiB has been given back to it, keeps pieces of that size for the next time rather than return them to the system.
fn json(message: &impl serde::Serialize) -> Vec<u8> {
    let mut size = Counted(0);
    serde_json::to_writer(&mut size, message).expect("messages are plain data");
    let mut bytes = Vec::with_capacity(size.0);
    serde_json::to_writer(&mut bytes, message).expect("messages are plain data");
    bytes
}

/// Counts what is written.
struct Counted(usize);

impl io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Client {
    /// A client that makes its connections so, and shows these credentials.
    pub fn new(dial: Arc<dyn Dial>, credentials: Credentials) -> Self {
        let (idle, found) = (Mutex::default(), Mutex::default());
        Self {
            dial,
            credentials,
            idle,
            answer_max: ANSWER_MAX,
            found,
            find_tokens: loopback_tokens,
        }
    }

    /// The same, which takes larger answers.
    #[must_use]
    pub fn with_answers_up_to(self, answer_max: usize) -> Self {
        Self { answer_max, ..self }
    }

    /// What it shows of itself.
    pub const fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// Whether who was given these places may go where one of them sends it.
    pub fn may_follow(&self, given: &[Place], to: &Place) -> bool {
        may_follow(given, to, self.dial.knows_peers())
    }

    /// Reads something.
    pub async fn get(
        &self,
        place: &Place,
        path: &str,
        within: Duration,
    ) -> Result<Answered, CallError> {
        self.call(Ask::get(place, path), within).await
    }

    /// Has something done.
    pub async fn post(
        &self,
        place: &Place,
        path: &str,
        body: &impl serde::Serialize,
        within: Duration,
    ) -> Result<Answered, CallError> {
        self.call(Ask::post(place, path, body), within).await
    }

    /// Makes a request. One that fails on a connection that had been kept is made again on a new one, once: the other
    /// end may have closed it long ago. Every request may be repeated.
    pub async fn call(&self, ask: Ask<'_>, within: Duration) -> Result<Answered, CallError> {
        let place = ask.place.clone();
        let called = timeout(within, async {
            let shown = self.token(ask.place);
            let answered = self.call_with(&ask, shown.as_deref()).await?;
            if answered.status != StatusCode::UNAUTHORIZED {
                return Ok(answered);
            }
            self.call_with_others(&ask, shown.as_deref(), answered).await
        });
        let answered = called.await.unwrap_or_else(|_| Err("no answer in time".to_owned()));
        let unreachable = |reason| CallError::Unreachable { place: place.clone(), reason };
        judge(answered.map_err(unreachable)?, &place)
    }

    /// A controller of this machine makes another token at each start, and one of several that are found may be of a controller
    /// that has ended: each is shown once.
    async fn call_with_others(
        &self,
        ask: &Ask<'_>,
        shown: Option<&str>,
        mut answered: Answered,
    ) -> Result<Answered, String> {
        for other in self.other_tokens(ask.place, shown) {
            answered = self.call_with(ask, Some(&other)).await?;
            if answered.status != StatusCode::UNAUTHORIZED {
                let mut found = self.found();
                found.retain(|(known, _)| known != ask.place);
                found.push((ask.place.clone(), other));
                break;
            }
        }
        Ok(answered)
    }

    async fn call_with(&self, ask: &Ask<'_>, token: Option<&str>) -> Result<Answered, String> {
        if let Some(kept) = self.kept(ask.place)
            && let Ok(answered) = self.send(kept, ask, token).await
        {
            return Ok(answered);
        }
        let connection = self.connect(ask.place).await?;
        self.send(connection, ask, token).await
    }

    fn kept(&self, place: &Place) -> Option<SendRequest<Full<Bytes>>> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|kept| kept.sender.is_ready());
        let found = idle.iter().rposition(|kept| kept.place == *place)?;
        Some(idle.swap_remove(found).sender)
    }

    async fn connect(&self, place: &Place) -> Result<SendRequest<Full<Bytes>>, String> {
        let dialled = timeout(DIAL_WITHIN, self.dial.dial(place)).await;
        let stream = dialled.map_err(|_| "no connection in time".to_owned())?;
        let stream = stream.map_err(|error| error.to_string())?;
        let handshake =
            http1::Builder::new().max_buf_size(READ_MAX).handshake(TokioIo::new(stream));
        let (sender, connection) = handshake.await.map_err(|error| error.to_string())?;
        // It ends when the sender is dropped, or the other end closes it.
        tokio::spawn(connection);
        Ok(sender)
    }

    async fn send(
        &self,
        mut sender: SendRequest<Full<Bytes>>,
        ask: &Ask<'_>,
        token: Option<&str>,
    ) -> Result<Answered, String> {
        let request = self.request(ask, token)?;
        let answered = sender.send_request(request).await.map_err(|error| explain(&error))?;
        let answered = collect(answered, self.answer_max).await?;
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_MAX && !sender.is_closed() {
            idle.push(Idle { place: ask.place.clone(), sender });
        }
        Ok(answered)
    }

    /// The token that was given, else the one that a controller of this machine keeps for this user.
    fn token(&self, place: &Place) -> Option<String> {
        if self.credentials.token.is_some() || !place.is_here() {
            return self.credentials.token.clone();
        }
        let mut found = self.found();
        if let Some((_, token)) = found.iter().find(|(known, _)| known == place) {
            return Some(token.clone());
        }
        let token = (self.find_tokens)(place).into_iter().next()?;
        found.push((place.clone(), token.clone()));
        Some(token)
    }

    /// The tokens that controllers of this machine keep by now, but for the one that was shown, which opens nothing.
    fn other_tokens(&self, place: &Place, shown: Option<&str>) -> Vec<String> {
        if self.credentials.token.is_some() {
            return Vec::new();
        }
        let is_other = |token: &str| Some(token) != shown;
        let mut found = self.found();
        found.retain(|(known, token)| known != place || is_other(token));
        // Another request of this client may have found the right one.
        let known =
            found.iter().filter(|(known, _)| known == place).map(|(_, token)| token.clone());
        let mut others: Vec<String> = known.collect();
        drop(found);
        for token in (self.find_tokens)(place).into_iter().filter(|token| is_other(token)) {
            if !others.contains(&token) {
                others.push(token);
            }
        }
        others
    }

    fn found(&self) -> MutexGuard<'_, Vec<(Place, String)>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn request(&self, ask: &Ask<'_>, token: Option<&str>) -> Result<Request<Full<Bytes>>, String> {
        let host = format!("{}:{}", ask.place.host(), ask.place.port());
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
    let mut value = value.map_err(|_| "a token has characters that cannot be sent".to_owned())?;
    value.set_sensitive(true);
    Ok(value)
}

/// All of an answer, in one piece: each part is let go as soon as it is there, so that no more than one is held beside the
/// whole.
async fn collect(
    answered: Response<hyper::body::Incoming>,
    most: usize,
) -> Result<Answered, String> {
    let (head, mut body) = answered.into_parts();
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    let mut whole = Vec::with_capacity(announced.min(most));
    while let Some(part) = body.frame().await {
        // Whatever follows a body is not for us.
        let Ok(bytes) = part.map_err(|error| explain(&error))?.into_data() else { continue };
        if whole.len() + bytes.len() > most {
            return Err(format!("an answer of more than {most} bytes"));
        }
        whole.extend_from_slice(&bytes);
    }
    Ok(Answered { status: head.status, headers: head.headers, body: whole.into() })
}

fn explain(error: &hyper::Error) -> String {
    use std::error::Error as _;
    match error.source() {
        Some(source) => source.to_string(),
        None => error.to_string(),
    }
}

/// Tells a good answer from a refusal, and a refusal from the word of a controller that does not lead.
fn judge(answered: Answered, place: &Place) -> Result<Answered, CallError> {
    if answered.status.is_success() || answered.status == StatusCode::NOT_MODIFIED {
        return Ok(answered);
    }
    if answered.status == StatusCode::SERVICE_UNAVAILABLE {
        let leader = answered.headers.get(LEADER_HEADER);
        let leader = leader.and_then(|value| value.to_str().ok()).filter(|it| !it.is_empty());
        let leader = leader.map(str::to_owned);
        return Err(CallError::NotLeader { place: place.clone(), leader });
    }
    let problem = serde_json::from_slice(&answered.body).unwrap_or_else(|_| Problem {
        code: "unknown".to_owned(),
        title: "an answer that is not windlass's".to_owned(),
        status: answered.status.as_u16(),
        detail: format!("{place} answered {}: is it a controller of windlass?", answered.status),
        problems: Vec::new(),
        leader: None,
    });
    Err(CallError::Refused(Box::new(problem)))
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod client_tests;
