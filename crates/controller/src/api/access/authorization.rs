//! The authorization of a request: the credential that it presented, and whether that is still valid.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;
use windlass_core::access::{Principal, SecretDigest, TokenStatus};
use windlass_core::id::{TokenId, WorkerId};
use windlass_core::time::Time;

use crate::api::api_error::ApiError;
use crate::api::api_state::Api;

/// The longest time between two checks of an expiry: the clock of the system may be set forward.
const LOOK_EVERY: Duration = Duration::from_mins(1);

/// The authorization of a request.
#[derive(Clone, Debug)]
pub(super) struct Authorization {
    pub(super) by: Principal,
    pub(super) key: AuthorizationSource,
    /// Whether only the leader answers the request.
    pub(super) of_leader: bool,
}

/// The credential behind an authorization.
#[derive(Clone, Copy, Debug)]
pub(super) enum AuthorizationSource {
    /// The control socket, which only its owner can open.
    Owner,
    /// None: the controller has no tokens.
    Open,
    /// A token of the controller's token file.
    File(SecretDigest),
    /// A stored token, and when it expires.
    Token(TokenId, Option<Time>),
    /// The secret of a worker.
    Worker(WorkerId),
}

impl Authorization {
    /// The authorization of a request that only the leader answers.
    pub(super) const fn new(by: Principal, key: AuthorizationSource) -> Self {
        Self { by, key, of_leader: true }
    }

    /// The refusal, if the authorization is no longer valid.
    pub(super) fn refusal(&self, api: &Api) -> Option<ApiError> {
        // A request that began in a term ends with it: the client repeats it at the next leader.
        if let Some(deposed) = api.deposed(true).filter(|_| self.of_leader) {
            return Some(deposed);
        }
        match self.key {
            AuthorizationSource::Owner => None,
            AuthorizationSource::Open => api.requires_token().then(ApiError::no_token),
            AuthorizationSource::File(digest) => {
                (!api.tokens.contains(digest)).then(ApiError::wrong_token)
            }
            AuthorizationSource::Token(id, _) => {
                let now = api.latest_now();
                api.handle.views().with(|view| {
                    let Some(record) = view.engine.keys().token(id) else {
                        return Some(ApiError::wrong_token());
                    };
                    match record.status(now) {
                        TokenStatus::Valid => None,
                        TokenStatus::Revoked => Some(ApiError::revoked_token(&record.token.name)),
                        TokenStatus::Expired => Some(ApiError::expired_token(&record.token.name)),
                    }
                })
            }
            AuthorizationSource::Worker(id) => {
                let revoked = api.handle.views().with(|view| view.engine.keys().is_revoked(id));
                revoked.then(|| ApiError::revoked_worker(id))
            }
        }
    }

    /// The time until the next check, if the credential expires.
    fn recheck_after(&self, now: Time) -> Option<Duration> {
        let AuthorizationSource::Token(_, Some(expires)) = self.key else { return None };
        let left = Duration::from_millis(expires.since(now).as_millis());
        Some(left.min(LOOK_EVERY))
    }
}

/// Announces that credentials have changed.
#[derive(Debug)]
pub(super) struct AuthorizationWatch {
    store: watch::Receiver<()>,
    file: watch::Receiver<Vec<SecretDigest>>,
}

impl AuthorizationWatch {
    /// Starts to watch.
    pub(super) fn begin(api: &Api) -> Self {
        Self { store: api.handle.views().access(), file: api.tokens.watch() }
    }

    /// Waits until an authorization is no longer valid, and returns the refusal.
    pub(super) async fn revoked(mut self, api: Arc<Api>, pass: Authorization) -> ApiError {
        loop {
            tokio::select! {
                changed = self.store.changed() => if changed.is_err() { return pending().await },
                changed = self.file.changed() => if changed.is_err() { return pending().await },
                () = after(pass.recheck_after(api.latest_now())) => {}
            }
            if let Some(refused) = pass.refusal(&api) {
                return refused;
            }
        }
    }
}

async fn after(span: Option<Duration>) {
    match span {
        Some(span) => sleep(span).await,
        None => pending().await,
    }
}
