//! Who was let in, by what, and whether that still opens.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;
use windlass_core::access::{Principal, SecretDigest, TokenStatus};
use windlass_core::id::{TokenId, WorkerId};
use windlass_core::time::Time;

use crate::api::api_error::ApiError;
use crate::api::router::Api;

/// The longest that a pass is not looked at: clocks are set, and a time that is far off may come sooner.
const LOOK_EVERY: Duration = Duration::from_mins(1);

/// What somebody was let in by.
#[derive(Clone, Debug)]
pub(super) struct Authorization {
    pub(super) by: Principal,
    pub(super) key: AuthorizationSource,
}

/// What opens.
#[derive(Clone, Copy, Debug)]
pub(super) enum AuthorizationSource {
    /// The socket: only its owner gets there.
    Owner,
    /// Nothing was asked for.
    Open,
    /// A token of the controller's file.
    File(SecretDigest),
    /// A token, and when it ends by itself.
    Token(TokenId, Option<Time>),
    /// A worker's secret.
    Worker(WorkerId),
}

impl Authorization {
    /// Why it opens nothing any more, if that is so.
    pub(super) fn refusal(&self, api: &Api) -> Option<ApiError> {
        // What was begun under a term ends with it: who leads next goes on.
        if let Some(deposed) = api.deposed(true) {
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
                api.handle.views().look(|view| {
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
                let revoked = api.handle.views().look(|view| view.engine.keys().is_revoked(id));
                revoked.then(|| ApiError::revoked_worker(id))
            }
        }
    }

    /// How long it lasts at most before it has to be looked at again.
    fn recheck_after(&self, now: Time) -> Option<Duration> {
        let AuthorizationSource::Token(_, Some(expires)) = self.key else { return None };
        let left = Duration::from_millis(expires.since(now).as_millis());
        Some(left.min(LOOK_EVERY))
    }
}

/// Hears that something may have ended.
#[derive(Debug)]
pub(super) struct AuthorizationWatch {
    store: watch::Receiver<()>,
    file: watch::Receiver<Vec<SecretDigest>>,
}

impl AuthorizationWatch {
    /// Listens from now on.
    pub(super) fn begin(api: &Api) -> Self {
        Self { store: api.handle.views().access(), file: api.tokens.watch() }
    }

    /// Waits until a pass opens nothing any more, and says why. For ever, if it never ends.
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
