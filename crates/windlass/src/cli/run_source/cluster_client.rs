//! Requests to a controller, and the errors for its refusals.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::{Instant, sleep};
use windlass_core::report::UtcTime;
use windlass_core::time::Time;
use windlass_link::http::HttpObjects;
use windlass_net::http::{
    ControllerAddress, ControllerAddresses, HttpCallError, HttpClient, HttpRequest, HttpResponse,
    ProblemDetails,
};
use windlass_store::objects::ObjectStore;

use super::leader_search::{LeaderSearch, LeaderSearchMiss};
use crate::cli::error::CliError;
use crate::cli::output::CommandHints;

/// How long an immediate answer may take.
const WITHIN: Duration = Duration::from_secs(15);

/// A client for the controllers of a cluster, which finds their leader.
#[derive(Debug)]
pub(crate) struct ClusterClient {
    client: HttpClient,
    given: ControllerAddresses,
    /// The last known leader.
    leader: Mutex<ControllerAddress>,
    hints: CommandHints,
}

impl ClusterClient {
    /// The controllers at these addresses; the flags refer to them in command hints.
    pub(crate) fn new(given: ControllerAddresses, client: HttpClient, flags: String) -> Self {
        let hints = CommandHints { controller: Some(flags), ..CommandHints::default() };
        let leader = Mutex::new(given.first().clone());
        Self { client, given, leader, hints }
    }

    /// Commands about its runs.
    pub(crate) const fn hints(&self) -> &CommandHints {
        &self.hints
    }

    /// The address of the first.
    pub(crate) fn address(&self) -> &ControllerAddress {
        self.given.first()
    }

    /// The files of steps.
    pub(crate) fn objects(&self) -> Arc<dyn ObjectStore> {
        Arc::new(HttpObjects::new(&self.client, self.given.all().to_vec()))
    }

    /// Reads JSON.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, CliError> {
        let answered = self.call(HttpRequest::get(self.address(), path), Duration::ZERO).await?;
        self.read(&answered)
    }

    /// Requests an action with `body`.
    pub(crate) async fn post(
        &self,
        path: &str,
        body: &(impl Serialize + Sync),
    ) -> Result<HttpResponse, CliError> {
        self.call(HttpRequest::post(self.address(), path, body), Duration::ZERO).await
    }

    /// Sends a request to the leader; its answer may wait this long for an event.
    pub(crate) async fn call(
        &self,
        ask: HttpRequest<'_>,
        wait: Duration,
    ) -> Result<HttpResponse, CliError> {
        let (within, began) = (wait + WITHIN, Instant::now());
        let mut search = LeaderSearch::begin(self.given.all(), self.leader().clone());
        loop {
            let address = search.address().clone();
            let missed = match self
                .client
                .call(HttpRequest { address: &address, ..ask.clone() }, within)
                .await
            {
                Err(
                    error @ (HttpCallError::Unreachable { .. } | HttpCallError::NotLeader { .. }),
                ) => error,
                answered => {
                    *self.leader() = address;
                    return Ok(answered?);
                }
            };
            match search.advance(self.miss(&missed), began.elapsed()) {
                Some(pause) => sleep(pause).await,
                None => return Err(missed.into()),
            }
        }
    }

    fn leader(&self) -> MutexGuard<'_, ControllerAddress> {
        self.leader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn miss(&self, error: &HttpCallError) -> LeaderSearchMiss {
        let HttpCallError::NotLeader { leader, .. } = error else {
            return LeaderSearchMiss::Unreachable;
        };
        let Some(leader) = leader.as_ref().and_then(|it| it.parse().ok()) else {
            return LeaderSearchMiss::NoLeader;
        };
        if self.client.may_redirect(self.given.all(), &leader) {
            return LeaderSearchMiss::LedBy(leader);
        }
        LeaderSearchMiss::LedElsewhere
    }

    /// Parses an answer.
    pub(crate) fn read<T: DeserializeOwned>(&self, answered: &HttpResponse) -> Result<T, CliError> {
        serde_json::from_slice(&answered.body)
            .map_err(|error| self.unexpected_answer(&error.to_string()))
    }

    /// The error for an answer that no controller of this release gives.
    pub(crate) fn unexpected_answer(&self, what: &str) -> CliError {
        CliError::unreachable(format!("{} gave an invalid answer: {what}", self.leader()))
            .hint("check that it is a windlass controller of this release")
    }
}

impl From<HttpCallError> for CliError {
    fn from(error: HttpCallError) -> Self {
        match error {
            HttpCallError::Unreachable { .. } => Self::unreachable(error.to_string()).hint(
                "is `windlass serve` running there? `windlass context` shows the saved address",
            ),
            HttpCallError::NotLeader { address: at, leader: Some(leader) }
                if !leader.is_empty() =>
            {
                Self::unreachable(format!("{at} does not lead; {leader} does"))
                    .hint(format!("send the command there: --to {leader}"))
            }
            HttpCallError::NotLeader { address: at, .. } => {
                Self::unreachable(format!("{at} does not lead now: try again in a moment"))
            }
            HttpCallError::Refused(problem) => refusal_error(&problem),
        }
    }
}

/// The error for a refusal: most are about the request, some about the controller.
fn refusal_error(problem: &ProblemDetails) -> CliError {
    let detail = problem.detail.as_str();
    match (problem.status, problem.code.as_str()) {
        (_, "no_token") => CliError::usage("this controller requires a token")
            .hint("name a file with the token by --token-file or WINDLASS_TOKEN_FILE"),
        (_, "wrong_token") => CliError::usage("the controller does not accept this token")
            .hint("the token is read from the file in --token-file or WINDLASS_TOKEN_FILE"),
        (_, "unknown") | (429 | 500.., _) => CliError::unreachable(detail),
        (422, "bad_pipeline") => CliError::file(detail),
        _ => CliError::usage(detail),
    }
}

/// Escapes a text as one segment of a path, or one value of a query.
pub(crate) fn segment(text: &str) -> String {
    let written = |byte: u8| match byte {
        b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(written).collect()
}

/// A time in an answer, if present.
pub(crate) fn moment_of(value: &Value) -> Option<Time> {
    value.as_str().and_then(UtcTime::parse).map(|UtcTime(at)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_cannot_leave_its_path_segment() {
        assert_eq!(segment("test[linux,a b]"), "test%5Blinux%2Ca%20b%5D");
        assert_eq!(segment("../x?y=1&z#"), "..%2Fx%3Fy%3D1%26z%23");
        assert_eq!(segment("é"), "%C3%A9");
    }

    #[test]
    fn refusals_map_to_exit_codes() {
        let code = |status, code: &str| {
            let (title, detail, problems) = ("refused".to_owned(), "no".to_owned(), Vec::new());
            let code = code.to_owned();
            let problem = ProblemDetails {
                code,
                title,
                status,
                detail,
                problems,
                leader: None,
                object: None,
            };
            refusal_error(&problem).exit_code()
        };
        assert_eq!(code(401, "no_token"), 2);
        assert_eq!(code(401, "wrong_token"), 2);
        assert_eq!(code(404, "no_such_run"), 2);
        assert_eq!(code(409, "key_conflict"), 2);
        assert_eq!(code(422, "bad_pipeline"), 3);
        assert_eq!(code(422, "bad_params"), 2);
        assert_eq!(code(429, "too_many_runs"), 5);
        assert_eq!(code(500, "store_failed"), 5);
        assert_eq!(code(404, "unknown"), 5);
    }
}
