//! Requests about objects, repeated while they fail for a passing reason.
//!
//! Every controller with the objects answers, not only the leader. A client stays with the controller that answered last, and
//! goes on with the next one when that does not answer.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hyper::Method;
use hyper::body::Bytes;
use tokio::time::{Instant, sleep};
use windlass_net::http::{ControllerAddress, HttpClient, HttpRequest, HttpResponse};
use windlass_net::random::random_number;
use windlass_store::db::StoreError;
use windlass_store::objects::ObjectError;

use super::frames::OBJECTS_BODY_MAX;
use super::refusal::{ObjectCallFailure, at};

/// Timeout of a request, besides the time for its bytes: the longest that a controller waits for its disk.
const ANSWER_WITHIN: Duration = Duration::from_secs(70);

/// The slowest connection that is not given up, in bytes per second.
const SLOWEST: u64 = 64 << 10;

/// How long a call is repeated, besides the time for its bytes: longer than the restart of a controller or a takeover.
const PATIENCE: Duration = Duration::from_mins(2);

/// The first and the longest pause between two tries.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(3);

/// A request about objects.
#[derive(Clone, Debug)]
pub(super) struct ObjectRequest<'a> {
    pub(super) method: Method,
    pub(super) path: &'a str,
    pub(super) body: Bytes,
    pub(super) headers: &'a [(&'a str, &'a str)],
}

/// Sends requests about objects.
#[derive(Debug)]
pub(super) struct ObjectCaller {
    client: HttpClient,
    given: Vec<ControllerAddress>,
    current: Mutex<ControllerAddress>,
    patience: Duration,
}

/// The deadline of a call, which all of its requests share.
#[derive(Debug)]
pub(super) struct ObjectCallDeadline {
    end: Instant,
    /// Timeout of one request.
    within: Duration,
    pause: Duration,
    /// Controllers without objects.
    without: Vec<ControllerAddress>,
}

impl ObjectCaller {
    /// Sends requests to controllers at these addresses, of which there is at least one.
    pub(super) fn new(client: &HttpClient, given: Vec<ControllerAddress>) -> Self {
        let current = Mutex::new(given.first().expect("at least one address").clone());
        let client = client.sibling().with_response_limit(OBJECTS_BODY_MAX).without_resends();
        Self { client, given, current, patience: PATIENCE }
    }

    /// Sets how long a call is repeated.
    pub(super) fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Begins a call that transfers at most this number of bytes.
    pub(super) fn begin(&self, bytes: usize) -> ObjectCallDeadline {
        let transfer = Duration::from_secs(bytes as u64 / SLOWEST);
        let end = Instant::now() + self.patience + transfer;
        let within = ANSWER_WITHIN + transfer;
        ObjectCallDeadline { end, within, pause: PAUSE_MIN, without: Vec::new() }
    }

    /// Sends a request until it has a result.
    pub(super) async fn send(
        &self,
        deadline: &mut ObjectCallDeadline,
        request: &ObjectRequest<'_>,
    ) -> Result<HttpResponse, ObjectError> {
        loop {
            if let Some(answered) = self.send_once(deadline, request).await? {
                return Ok(answered);
            }
        }
    }

    /// Sends a request once. Returns `None`, after a pause, if it failed for a passing reason.
    pub(super) async fn send_once(
        &self,
        deadline: &mut ObjectCallDeadline,
        request: &ObjectRequest<'_>,
    ) -> Result<Option<HttpResponse>, ObjectError> {
        let address = self.address();
        let ObjectRequest { method, path, body, headers } = request.clone();
        let content = "application/octet-stream";
        let ask = HttpRequest { method, address: &address, path, content, body, headers };
        let left = deadline.end.saturating_duration_since(Instant::now());
        let error = match self.client.call(ask, deadline.within.min(left)).await {
            Ok(answered) => return Ok(Some(answered)),
            Err(error) => ObjectCallFailure::of(error),
        };
        match error {
            ObjectCallFailure::Final(error) => Err(at(error, &address)),
            ObjectCallFailure::NoObjects(error) => {
                self.leave(&address, None);
                if !deadline.without.contains(&address) {
                    deadline.without.push(address.clone());
                }
                let others = deadline.without.len() < self.given.len();
                if others { Ok(None) } else { Err(at(error, &address)) }
            }
            ObjectCallFailure::Passing(reason, leader) => {
                self.leave(&address, leader.as_deref());
                self.pause(deadline, reason).await?;
                Ok(None)
            }
        }
    }

    /// Waits before the next try, unless the deadline has passed.
    pub(super) async fn pause(
        &self,
        deadline: &mut ObjectCallDeadline,
        reason: String,
    ) -> Result<(), ObjectError> {
        let (pause, now) = (jittered(deadline.pause), Instant::now());
        if now + pause >= deadline.end {
            let place = self.address().to_string();
            let reason = format!("{reason}; every try failed until the deadline");
            return Err(StoreError::Unavailable { place, reason }.into());
        }
        deadline.pause = (deadline.pause * 2).min(PAUSE_MAX);
        sleep(pause).await;
        Ok(())
    }

    /// The controller that is asked next.
    pub(super) fn address(&self) -> ControllerAddress {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Goes on with the leader if it was named and may be followed, else with the next address. Of several calls that fail
    /// together, only the first does.
    fn leave(&self, from: &ControllerAddress, leader: Option<&str>) {
        let leader: Option<ControllerAddress> = leader.and_then(|leader| leader.parse().ok());
        let leader = leader.filter(|leader| self.client.may_redirect(&self.given, leader));
        let mut now = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if *now == *from {
            let next = self.given.iter().position(|address| address == from).map_or(0, |at| at + 1);
            *now = leader.unwrap_or_else(|| self.given[next % self.given.len()].clone());
        }
    }
}

/// Between half of a pause and all of it, so that clients that failed together do not return together.
fn jittered(pause: Duration) -> Duration {
    let chance = u32::try_from(random_number() % 1024).expect("it is below 1,024");
    (pause * 1024 + pause * chance) / 2048
}
