//! The controllers that an observer reads from: who of them leads.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use windlass_link::http::ClusterDescription;
use windlass_net::http::{
    ClientCredentials, ControllerAddress, ControllerAddresses, Dialer, HttpCallError, HttpClient,
    HttpRequest, HttpResponse,
};

/// The most bytes of an answer: a batch with the plan of a million steps, or the state of a large cluster.
const ANSWER_MAX: usize = 512 << 20;

/// How long an answer may take that waits for nothing.
const WITHIN: Duration = Duration::from_secs(15);

/// A way to a cluster's leader, for reading.
#[derive(Debug)]
pub struct UpstreamCluster {
    client: HttpClient,
    given: ControllerAddresses,
    /// Who answered last.
    at: Mutex<ControllerAddress>,
}

impl UpstreamCluster {
    /// The controllers at these places, reached so, and shown this token.
    pub fn new(given: ControllerAddresses, dial: Arc<dyn Dialer>, token: Option<String>) -> Self {
        let client = HttpClient::new(dial, ClientCredentials { token, worker: None });
        let at = Mutex::new(given.first().clone());
        Self { client: client.with_response_limit(ANSWER_MAX), given, at }
    }

    /// Who is asked now.
    pub fn place(&self) -> ControllerAddress {
        self.at().clone()
    }

    /// What the cluster says of itself.
    pub async fn cluster(&self) -> Result<ClusterDescription, HttpCallError> {
        let answered = self.get("/cluster", &[], Duration::ZERO).await?;
        serde_json::from_slice(&answered.body).map_err(|error| HttpCallError::Unreachable {
            place: self.place(),
            reason: format!("its answer makes no sense: {error}"),
        })
    }

    /// Reads something of who leads; the answer may wait so long for something to happen.
    pub async fn get(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        wait: Duration,
    ) -> Result<HttpResponse, HttpCallError> {
        let mut tries = self.given.all().len() + 1;
        loop {
            let place = self.place();
            let asked =
                self.client.call(HttpRequest::get(&place, path).with(headers), wait + WITHIN).await;
            let error = match asked {
                Err(
                    error @ (HttpCallError::Unreachable { .. } | HttpCallError::NotLeader { .. }),
                ) => error,
                answered => return answered,
            };
            self.try_next_place(&place, &error);
            tries -= 1;
            if tries == 0 {
                return Err(error);
            }
        }
    }

    /// Goes where it was sent, if it may, else to the next that it was given.
    fn try_next_place(&self, from: &ControllerAddress, error: &HttpCallError) {
        let given = self.given.all();
        let sent = match error {
            HttpCallError::NotLeader { leader: Some(leader), .. } => leader.parse().ok(),
            HttpCallError::NotLeader { .. }
            | HttpCallError::Unreachable { .. }
            | HttpCallError::Refused(_) => None,
        };
        let sent = sent.filter(|place| place != from && self.client.may_redirect(given, place));
        let known = given.iter().position(|place| place == from);
        let next = known.map_or(0, |at| (at + 1) % given.len());
        *self.at() = sent.unwrap_or_else(|| given[next].clone());
    }

    fn at(&self) -> MutexGuard<'_, ControllerAddress> {
        self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
