//! A worker's link over HTTP. It follows the leader as the leader changes.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::Method;
use hyper::body::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;
use windlass_core::session::{
    Exchange, ExchangeReply, LeaseRef, RegisterReply, RegisterRequest, WorkerRefusal,
};
use windlass_net::http::{ControllerAddress, HttpCallError, HttpClient, HttpRequest};
use windlass_store::logs::{LogId, LogPart};

use super::leader_liveness::{EXCHANGE_TIMEOUT_MAX, LeaderLiveness};
use super::wire::{ClusterDescription, LOG_SIZE_HEADER, ValueFetchRequest};
use crate::output::{LogChunk, LogChunksReply, OutputLink};
use crate::{LinkError, LinkFuture, WorkerLink};

/// Timeout of a request that is not parked.
const WITHIN: Duration = Duration::from_secs(10);

/// Timeout of a health check.
const HEALTHY_WITHIN: Duration = Duration::from_secs(1);

/// Timeout of a request with output.
const OUTPUT_WITHIN: Duration = Duration::from_secs(15);

/// The worker's end of the HTTP link.
#[derive(Debug)]
pub struct HttpWorkerLink {
    client: Arc<HttpClient>,
    given: Vec<ControllerAddress>,
    current: Mutex<ControllerAddress>,
    liveness: LeaderLiveness,
}

impl HttpWorkerLink {
    /// Returns a link to the leader of a cluster with controllers at these addresses.
    ///
    /// # Panics
    /// If `given` is empty.
    pub fn new(client: Arc<HttpClient>, given: Vec<ControllerAddress>) -> Self {
        let current = Mutex::new(given.first().expect("at least one address").clone());
        Self { client, given, current, liveness: LeaderLiveness::new() }
    }

    /// The address at which the leader is expected.
    pub fn address(&self) -> ControllerAddress {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// All configured controller addresses.
    pub fn places(&self) -> &[ControllerAddress] {
        &self.given
    }

    /// The HTTP client, for other requests to the leader.
    pub fn client(&self) -> &Arc<HttpClient> {
        &self.client
    }

    /// Fetches the description of the cluster.
    pub async fn cluster(&self) -> Result<ClusterDescription, LinkError> {
        let address = self.address();
        let answered = self.client.get(&address, "/cluster", WITHIN).await;
        self.read(&address, answered.map(|answered| answered.body))
    }

    async fn send_message<T: DeserializeOwned>(
        &self,
        path: &str,
        message: &impl Serialize,
        within: Duration,
    ) -> Result<T, LinkError> {
        // Each controller is asked once; then the worker pauses before it tries again.
        let (mut tried, mut not_leader) = (Vec::new(), None);
        loop {
            let address = self.address();
            let answered = self.post(&address, path, message, within).await;
            let error = match self.read(&address, answered) {
                Err(error) if !error.is_final() => error,
                answered => return answered,
            };
            if matches!(error, LinkError::NotLeader(_)) {
                not_leader = Some(error.clone());
            }
            tried.push(address);
            if !self.leave_tried(&tried) {
                // Prefer NotLeader to Unreachable: a standby will soon know the leader.
                return Err(not_leader.unwrap_or(error));
            }
        }
    }

    /// Sends one request to the expected leader, unless that controller is silent.
    async fn post(
        &self,
        address: &ControllerAddress,
        path: &str,
        message: &impl Serialize,
        within: Duration,
    ) -> Result<Bytes, HttpCallError> {
        let silent = |reason: &str| {
            Err(HttpCallError::Unreachable { address: address.clone(), reason: reason.to_owned() })
        };
        if self.liveness.is_silent(address) && !self.probe_health(address).await {
            return silent("it does not respond");
        }
        let response =
            timeout(within, self.client.post(address, path, message, EXCHANGE_TIMEOUT_MAX));
        tokio::select! {
            biased;
            answered = response => match answered {
                Ok(answered) => answered.map(|answered| answered.body),
                Err(_) if self.has_single_controller() => silent("no answer in time"),
                Err(_) => {
                    self.liveness.mark_silent(address);
                    silent("no answer in time")
                }
            },
            () = self.liveness.wait_until_silent(address) => silent("it has not responded for too long"),
        }
    }

    /// Whether only one controller can lead. Giving up on it early gains nothing then.
    fn has_single_controller(&self) -> bool {
        self.given.len() == 1
    }

    /// Timeout of an exchange.
    fn exchange_timeout(&self) -> Duration {
        if self.has_single_controller() {
            EXCHANGE_TIMEOUT_MAX
        } else {
            self.liveness.exchange_timeout()
        }
    }

    /// Whether a silent controller responds again.
    async fn probe_health(&self, address: &ControllerAddress) -> bool {
        let awake = self.client.get(address, "/healthz", HEALTHY_WITHIN).await.is_ok();
        if awake {
            self.liveness.mark_responsive();
        }
        awake
    }

    fn read<T: DeserializeOwned>(
        &self,
        address: &ControllerAddress,
        answered: Result<Bytes, HttpCallError>,
    ) -> Result<T, LinkError> {
        let body = answered.map_err(|error| self.link_error_of(address, error))?;
        serde_json::from_slice(&body).map_err(|error| LinkError::Unreachable {
            place: address.to_string(),
            reason: format!("it returned a malformed response: {error}"),
        })
    }

    /// The link error for a failed call. Also selects the controller for the next try.
    fn link_error_of(&self, address: &ControllerAddress, error: HttpCallError) -> LinkError {
        match error {
            HttpCallError::NotLeader { leader, .. } => {
                let leader = leader.and_then(|text| text.parse().ok());
                self.switch_controller(
                    address,
                    leader.filter(|leader| self.client.may_redirect(&self.given, leader)),
                );
                LinkError::NotLeader(address.to_string())
            }
            HttpCallError::Refused(problem) if problem.code == "revoked_worker" => {
                LinkError::Revoked(problem.detail)
            }
            HttpCallError::Refused(problem) if problem.status < 500 && problem.status != 429 => {
                LinkError::Denied { place: address.to_string(), reason: problem.detail }
            }
            HttpCallError::Unreachable { reason, .. } => self.unreachable(address, reason),
            HttpCallError::Refused(problem) => self.unreachable(address, problem.detail),
        }
    }

    fn unreachable(&self, address: &ControllerAddress, reason: String) -> LinkError {
        self.switch_controller(address, None);
        LinkError::Unreachable { place: address.to_string(), reason }
    }

    /// Selects a controller that was not tried yet. Returns whether there is one.
    fn leave_tried(&self, tried: &[ControllerAddress]) -> bool {
        let mut now = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if !tried.contains(&now) {
            return true;
        }
        let next = self.given.iter().find(|address| !tried.contains(address));
        if let Some(next) = next {
            now.clone_from(next);
        }
        next.is_some()
    }

    /// Switches to the leader that was named, or else to the next configured address. Of several calls that fail
    /// together, only the first switches.
    fn switch_controller(&self, from: &ControllerAddress, leader: Option<ControllerAddress>) {
        let mut now = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if *now != *from {
            return;
        }
        let next = self.given.iter().position(|address| address == from).map_or(0, |at| at + 1);
        *now = leader.unwrap_or_else(|| self.given[next % self.given.len()].clone());
    }
}

impl WorkerLink for HttpWorkerLink {
    fn register(
        &self,
        register: RegisterRequest,
    ) -> LinkFuture<'_, Result<RegisterReply, WorkerRefusal>> {
        Box::pin(async move {
            let path = format!("/workers/{}/join", register.worker.0);
            let answered = self.send_message(&path, &register, WITHIN).await;
            if let Ok(Ok(RegisterReply { interval, .. })) = &answered {
                self.liveness.record_answer(*interval);
            }
            answered
        })
    }

    fn exchange(&self, exchange: Exchange) -> LinkFuture<'_, ExchangeReply> {
        Box::pin(async move {
            let path = format!("/workers/{}/exchange", exchange.worker.0);
            let sent = (exchange.incarnation, exchange.seq);
            self.liveness.record_sent(sent);
            // Meanwhile another call may have switched controllers; the new one is not to blame.
            let address = self.address();
            let answered = tokio::select! {
                biased;
                answered = self.send_message(&path, &exchange, self.exchange_timeout()) => answered,
                () = self.liveness.wait_until_overtaken(sent), if !self.has_single_controller() => {
                    self.liveness.mark_silent(&address);
                    Err(self.unreachable(&address, "no answer in time".to_owned()))
                }
            };
            if let Ok(ExchangeReply { interval, .. }) = &answered {
                self.liveness.record_answer(*interval);
            }
            answered
        })
    }

    fn cancel_run(&self, lease: LeaseRef) -> LinkFuture<'_, ()> {
        Box::pin(async move {
            let worker = self.client.credentials().worker.as_ref();
            let path = format!("/workers/{}/cancel", worker.map_or(0, |it| it.worker_id().0));
            self.send_message(&path, &lease, WITHIN).await
        })
    }
}

impl OutputLink for HttpWorkerLink {
    fn ship(&self, pieces: Vec<LogChunk>) -> LinkFuture<'_, LogChunksReply> {
        Box::pin(async move {
            let address = self.address();
            let worker = self.client.credentials().worker.as_ref();
            let path = format!("/workers/{}/logs", worker.map_or(0, |it| it.worker_id().0));
            let body = postcard::to_stdvec(&pieces).expect("messages are plain data");
            let ask = HttpRequest {
                method: Method::POST,
                address: &address,
                path: &path,
                content: "application/octet-stream",
                body: Bytes::from(body),
                headers: &[],
            };
            let answered = self.client.call(ask, OUTPUT_WITHIN).await;
            self.read(&address, answered.map(|answered| answered.body))
        })
    }

    fn fetch(&self, value: LogId, from: u64) -> LinkFuture<'_, LogPart> {
        Box::pin(async move {
            let address = self.address();
            let worker = self.client.credentials().worker.as_ref();
            let path = format!("/workers/{}/values", worker.map_or(0, |it| it.worker_id().0));
            let request = ValueFetchRequest { value, from };
            let answered = self.client.post(&address, &path, &request, OUTPUT_WITHIN).await;
            let answered = answered.map_err(|error| self.link_error_of(&address, error))?;
            let size = answered.headers.get(LOG_SIZE_HEADER).and_then(|size| size.to_str().ok());
            let size = size.and_then(|size| size.parse().ok()).unwrap_or_default();
            Ok(LogPart { from, bytes: answered.body.into(), size })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use windlass_core::id::{Incarnation, WorkerId};
    use windlass_core::requirement::{Labels, WorkerScope};
    use windlass_core::session::{FormerIncarnationProof, WorkerLocality};
    use windlass_net::http::{ClientCredentials, DialFuture, Dialer};

    use super::*;

    /// Refuses every connection and records the ports.
    #[derive(Debug, Default)]
    struct UnreachableDialer(Mutex<Vec<u16>>);

    impl Dialer for UnreachableDialer {
        fn dial<'a>(&'a self, address: &'a ControllerAddress) -> DialFuture<'a> {
            self.0.lock().unwrap().push(address.port());
            Box::pin(async { Err(io::Error::from(io::ErrorKind::ConnectionRefused)) })
        }
    }

    /// A worker that paused between two addresses would reach the leader late.
    #[tokio::test]
    async fn every_address_is_tried_before_a_message_counts_as_lost() {
        let dialer = Arc::new(UnreachableDialer::default());
        let client = HttpClient::new(Arc::clone(&dialer) as _, ClientCredentials::default());
        let places = [1, 2, 3].map(|port| format!("http://a:{port}").parse().unwrap());
        let link = HttpWorkerLink::new(Arc::new(client), places.to_vec());
        let register = RegisterRequest {
            worker: WorkerId(7),
            name: "ann".into(),
            incarnation: Incarnation(1),
            labels: Labels::default(),
            slots: 1,
            locality: WorkerLocality::Apart,
            scope: WorkerScope::AllRuns,
            former: FormerIncarnationProof::Unknown,
            spooled: Vec::new(),
        };
        let lost = link.register(register).await.unwrap_err();
        assert!(matches!(lost, LinkError::Unreachable { .. }), "{lost:?}");
        let mut tried = dialer.0.lock().unwrap().clone();
        tried.dedup();
        assert_eq!(tried, [1, 2, 3]);
    }
}
