//! Finds the leader among the controllers that a replica reads from.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use windlass_link::http::ClusterDescription;
use windlass_net::http::{
    ClientCredentials, ControllerAddress, ControllerAddresses, Dialer, HttpCallError, HttpClient,
    HttpRequest, HttpResponse,
};

/// The largest answer in bytes: a batch with the plan of a million steps, or the state of a large cluster.
const ANSWER_MAX: usize = 512 << 20;

/// The time limit of a request that does not wait for events.
const WITHIN: Duration = Duration::from_secs(15);

/// Reads from the leader of a cluster.
#[derive(Debug)]
pub struct UpstreamCluster {
    client: HttpClient,
    given: ControllerAddresses,
    /// The controller that answered last.
    at: Mutex<ControllerAddress>,
}

impl UpstreamCluster {
    /// Returns a reader of these controllers, which connects with this dialer and this token.
    pub fn new(given: ControllerAddresses, dial: Arc<dyn Dialer>, token: Option<String>) -> Self {
        let client = HttpClient::new(dial, ClientCredentials { token, worker: None });
        let at = Mutex::new(given.first().clone());
        Self { client: client.with_response_limit(ANSWER_MAX), given, at }
    }

    /// Returns the controller that is asked next.
    pub fn address(&self) -> ControllerAddress {
        self.at().clone()
    }

    /// Returns the cluster's description of itself.
    pub async fn cluster(&self) -> Result<ClusterDescription, HttpCallError> {
        let answered = self.get("/cluster", &[], Duration::ZERO).await?;
        serde_json::from_slice(&answered.body).map_err(|error| HttpCallError::Unreachable {
            address: self.address(),
            reason: format!("its answer makes no sense: {error}"),
        })
    }

    /// Sends a GET request to the leader. The leader may wait this long for events.
    pub async fn get(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        wait: Duration,
    ) -> Result<HttpResponse, HttpCallError> {
        let mut tries = self.given.all().len() + 1;
        loop {
            let address = self.address();
            let answer = self
                .client
                .call(HttpRequest::get(&address, path).with(headers), wait + WITHIN)
                .await;
            let error = match answer {
                Err(
                    error @ (HttpCallError::Unreachable { .. } | HttpCallError::NotLeader { .. }),
                ) => error,
                answered => return answered,
            };
            self.try_next_place(&address, &error);
            tries -= 1;
            if tries == 0 {
                return Err(error);
            }
        }
    }

    /// Follows the redirect if it is allowed, otherwise goes on with the next known controller.
    fn try_next_place(&self, from: &ControllerAddress, error: &HttpCallError) {
        let given = self.given.all();
        let sent = match error {
            HttpCallError::NotLeader { leader: Some(leader), .. } => leader.parse().ok(),
            HttpCallError::NotLeader { .. }
            | HttpCallError::Unreachable { .. }
            | HttpCallError::Refused(_) => None,
        };
        let sent =
            sent.filter(|address| address != from && self.client.may_redirect(given, address));
        let known = given.iter().position(|address| address == from);
        let next = known.map_or(0, |at| (at + 1) % given.len());
        *self.at() = sent.unwrap_or_else(|| given[next].clone());
    }

    fn at(&self) -> MutexGuard<'_, ControllerAddress> {
        self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
