//! Which path leads where, and what every answer may draw on.

use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::handler::Handler as _;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::{Extension, Router};
use windlass_core::access::AccessScope;
use windlass_core::rate_limit::BucketRate;
use windlass_core::time::Time;
use windlass_link::http::ClusterId;
use windlass_net::clock::ProcessClock;
use windlass_net::shutdown::ShutdownReceiver;
use windlass_store::archive::Archive;
use windlass_store::journal::Journal;
use windlass_store::logs::NotifyingLogStore;

use super::access::{self, FileTokens, RouteGate};
use super::allowed_hosts::{self, AllowedHosts};
use super::api_error::ApiError;
use super::body_budget::BodyBudget;
use super::events::SseLimits;
use super::extract::BodySizeLimit;
use super::plain_worker::PlainWorkerProxies;
use super::planning_limit::PlanningLimit;
use super::rate_limit::{self, RequestRateLimit};
use super::refusal_log::RefusalLog;
use super::routes::{ApiRoute, RouteAccess, RouteServedBy, routes};
use super::{etag, extract, leader_only, metrics, replica};
use crate::replica::UpstreamCluster;
use crate::{EngineView, LogIngest, NodeHandle, RunHistories};

/// The most bytes of a body: an exchange has at most half of it in outputs, and a request with logs as much as it was
/// given credit for.
const BODY_MAX: usize = 2 << 20;

/// What an API answers from.
#[derive(Debug)]
pub struct Api {
    pub(super) handle: NodeHandle,
    pub(super) stores: ApiStores,
    pub(super) identity: ControllerIdentity,
    pub(super) clock: fn() -> Time,
    /// What pauses between requests and between lines are counted on: nothing sets it back.
    pauses: ProcessClock,
    /// Tokens that are in no store.
    pub(super) tokens: FileTokens,
    /// Who else may lead the same stores.
    pub(super) mode: ControllerMode,
    /// Whom an observer asks for what only stores have.
    pub(super) upstream: Option<Arc<UpstreamCluster>>,
    /// Whether only the user of this machine gets here, who need not show anything.
    pub(super) is_owners: bool,
    /// What it is known by; by anything, where only this machine's user gets in.
    pub(super) hosts: Option<AllowedHosts>,
    /// How much may still be asked by whom.
    pub(super) rates: RequestRateLimit,
    /// Where it is told that requests were refused.
    pub(super) refusals: RefusalLog,
    /// Whether it is about to end.
    pub(super) ending: Option<ShutdownReceiver>,
    /// What takes in what steps print.
    pub(super) intake: LogIngest,
    /// Who speaks for which foreign worker.
    pub(super) proxies: PlainWorkerProxies,
    /// Who follows what happens.
    pub(super) streams: SseLimits,
    /// Which submissions are being planned.
    pub(super) planning: PlanningLimit,
}

/// Where runs that ended and what steps printed are kept.
#[derive(Clone, Debug)]
pub struct ApiStores {
    /// Runs that ended.
    pub archive: Arc<dyn Archive>,
    /// What steps print: everybody in this process writes to it through this.
    pub logs: Arc<NotifyingLogStore>,
    /// Runs that are not sealed.
    pub histories: Arc<RunHistories>,
    /// What happened, whatever it is about.
    pub journal: Arc<dyn Journal>,
}

/// Who can lead the stores of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControllerMode {
    /// Nobody else: what is durable is told whether it leads or not.
    Exclusive,
    /// Others at times: only who leads answers.
    Shared,
    /// Others, always: it has no stores, and answers who only wants to know.
    ReadOnlyReplica,
}

/// What a controller says of itself.
#[derive(Clone, Debug)]
pub struct ControllerIdentity {
    /// Which cluster this is.
    pub cluster: ClusterId,
    /// Where it wants to be reached.
    pub advertise: String,
}

impl Api {
    /// The API of the node behind the handle.
    pub fn new(
        handle: NodeHandle,
        stores: ApiStores,
        identity: ControllerIdentity,
        clock: fn() -> Time,
    ) -> Self {
        let (histories, logs) = (Arc::clone(&stores.histories), Arc::clone(&stores.logs));
        let intake = LogIngest::new(handle.clone(), histories, logs);
        Self {
            handle,
            stores,
            identity,
            clock,
            pauses: ProcessClock::runtime(),
            tokens: FileTokens::new(&[]),
            mode: ControllerMode::Exclusive,
            upstream: None,
            is_owners: false,
            hosts: None,
            rates: RequestRateLimit::new(rate_limit::DEFAULT_RATE),
            refusals: RefusalLog::default(),
            ending: None,
            intake,
            proxies: PlainWorkerProxies::default(),
            streams: SseLimits::default(),
            planning: PlanningLimit::default(),
        }
    }

    /// The same, also for those who show one of these tokens. Without any, and without one in the store, it asks for
    /// nothing.
    #[must_use]
    pub fn with_tokens(self, tokens: FileTokens) -> Self {
        Self { tokens, ..self }
    }

    /// The same, of a controller in this company.
    #[must_use]
    pub fn with_mode(self, company: ControllerMode) -> Self {
        Self { mode: company, ..self }
    }

    /// The same, of a controller that observes this cluster and has no stores.
    #[must_use]
    pub fn observing(self, upstream: Arc<UpstreamCluster>) -> Self {
        Self { mode: ControllerMode::ReadOnlyReplica, upstream: Some(upstream), ..self }
    }

    /// The same, behind a door that only the user of this machine can open.
    #[must_use]
    pub fn for_owner(self) -> Self {
        Self { is_owners: true, ..self }
    }

    /// Whether who comes has to show something.
    pub(super) fn requires_token(&self) -> bool {
        !self.tokens.is_empty()
            || self.handle.views().look(|view| view.engine.keys().requires_token())
    }

    /// The same, for requests that call it by one of its names.
    #[must_use]
    pub fn with_allowed_hosts(self, hosts: AllowedHosts) -> Self {
        Self { hosts: Some(hosts), ..self }
    }

    /// The same, which takes so many requests from one token or address.
    #[must_use]
    pub fn with_rate_limit(self, rate: BucketRate) -> Self {
        Self { rates: RequestRateLimit::new(rate), ..self }
    }

    /// The same, which tells that requests without authorization were refused, now and then.
    #[must_use]
    pub fn with_refusal_log(self, tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { refusals: RefusalLog::new(tell), ..self }
    }

    /// The same with another clock for the time of the system.
    #[must_use]
    pub fn with_clock(self, clock: fn() -> Time) -> Self {
        Self { clock, ..self }
    }

    /// The same, which says that it is not ready any more from the moment on that it is about to end.
    #[must_use]
    pub fn with_shutdown(self, ending: ShutdownReceiver) -> Self {
        Self { ending: Some(ending), ..self }
    }

    /// Why this controller does not answer, if others lead its stores and it does not.
    pub(super) fn deposed(&self, is_read: bool) -> Option<ApiError> {
        match self.mode {
            ControllerMode::Exclusive => return None,
            ControllerMode::ReadOnlyReplica if is_read => return None,
            ControllerMode::Shared | ControllerMode::ReadOnlyReplica => {}
        }
        let leader = |view: &EngineView| (!view.leads()).then(|| view.led_by.clone());
        let leader = self.handle.views().look(leader)?;
        Some(ApiError::not_leader(leader.as_ref()))
    }

    pub(super) fn now(&self) -> Time {
        (self.clock)()
    }

    /// The time since this API was made, whatever is done to the clock of the system.
    pub(super) fn elapsed(&self) -> Time {
        self.pauses.now()
    }

    /// The time by the clock of the system, or journal time where that is later: for what must not become valid or look older
    /// because the clock of the system was set back.
    pub(super) fn latest_now(&self) -> Time {
        self.now().max(self.handle.views().look(EngineView::journal_now))
    }
}

/// The routes of an API.
pub fn router(api: Arc<Api>) -> Router {
    let mut router = Router::new();
    for ApiRoute { path, needs, answers, handler, .. } in routes() {
        let gate = RouteGate { api: Arc::clone(&api), needs };
        let handler = match answers {
            RouteServedBy::Leader => {
                handler.layer(from_fn_with_state(Arc::clone(&api), replica::answer_as_replica))
            }
            RouteServedBy::AnyController => handler,
        };
        let counted = handler.layer(from_fn_with_state(gate.clone(), rate_limit::count));
        let mut guarded = counted.layer(from_fn_with_state(gate, access::check));
        if answers == RouteServedBy::Leader {
            guarded = guarded.layer(from_fn_with_state(Arc::clone(&api), leader_only::check));
        }
        router = router.route(path, guarded);
    }
    // What there is not is not told to everybody either.
    let gate = RouteGate { api: Arc::clone(&api), needs: RouteAccess::Scope(AccessScope::Read) };
    let gate = from_fn_with_state(gate, access::check);
    let no_such_path = || async { ApiError::no_such_path() };
    let no_such_method = || async { ApiError::no_such_method() };
    router
        .fallback(no_such_path.layer(gate.clone()))
        .method_not_allowed_fallback(no_such_method.layer(gate))
        .layer(from_fn_with_state(Arc::clone(&api), allowed_hosts::check))
        .layer(from_fn(etag::tag_and_compress))
        .layer(from_fn(extract::check_length))
        .layer(from_fn_with_state(Arc::clone(&api), rate_limit::count_refused))
        .layer(DefaultBodyLimit::max(BODY_MAX))
        .layer(Extension(BodySizeLimit(BODY_MAX)))
        .layer(Extension(BodyBudget::default()))
        .layer(from_fn(etag::forbid_sniffing))
        .layer(from_fn_with_state(Arc::clone(&api), metrics::measure))
        .with_state(api)
}
