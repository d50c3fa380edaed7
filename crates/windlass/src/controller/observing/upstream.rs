//! The controllers that an observer reads from: who of them leads.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::link::http::{
    Answered, Ask, CallError, Client, Cluster, Credentials, Dial, Place, Places,
};

/// The most bytes of an answer: a batch with the plan of a million steps, or the state of a large cluster.
const ANSWER_MAX: usize = 512 << 20;

/// How long an answer may take that waits for nothing.
const WITHIN: Duration = Duration::from_secs(15);

/// A way to a cluster's leader, for reading.
#[derive(Debug)]
pub struct Upstream {
    client: Client,
    given: Places,
    /// Who answered last.
    at: Mutex<Place>,
}

impl Upstream {
    /// The controllers at these places, reached so, and shown this token.
    pub fn new(given: Places, dial: Arc<dyn Dial>, token: Option<String>) -> Self {
        let client = Client::new(dial, Credentials { token, worker: None });
        let at = Mutex::new(given.first().clone());
        Self { client: client.with_answers_up_to(ANSWER_MAX), given, at }
    }

    /// Who is asked now.
    pub fn place(&self) -> Place {
        self.at().clone()
    }

    /// What the cluster says of itself.
    pub async fn cluster(&self) -> Result<Cluster, CallError> {
        let answered = self.get("/cluster", &[], Duration::ZERO).await?;
        serde_json::from_slice(&answered.body).map_err(|error| CallError::Unreachable {
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
    ) -> Result<Answered, CallError> {
        let mut tries = self.given.all().len() + 1;
        loop {
            let place = self.place();
            let asked = self.client.call(Ask::get(&place, path).with(headers), wait + WITHIN).await;
            let error = match asked {
                Err(error @ (CallError::Unreachable { .. } | CallError::NotLeader { .. })) => error,
                answered => return answered,
            };
            self.turn(&place, &error);
            tries -= 1;
            if tries == 0 {
                return Err(error);
            }
        }
    }

    /// Goes where it was sent, if it may, else to the next that it was given.
    fn turn(&self, from: &Place, error: &CallError) {
        let given = self.given.all();
        let sent = match error {
            CallError::NotLeader { leader: Some(leader), .. } => leader.parse().ok(),
            CallError::NotLeader { .. } | CallError::Unreachable { .. } | CallError::Refused(_) => {
                None
            }
        };
        let sent = sent.filter(|place| place != from && self.client.may_follow(given, place));
        let known = given.iter().position(|place| place == from);
        let next = known.map_or(0, |at| (at + 1) % given.len());
        *self.at() = sent.unwrap_or_else(|| given[next].clone());
    }

    fn at(&self) -> MutexGuard<'_, Place> {
        self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
