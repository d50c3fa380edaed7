//! What every handler of the API shares: the node, the stores, the identity and the checks.

use std::sync::Arc;

use windlass_core::rate_limit::BucketRate;
use windlass_core::time::Time;
use windlass_link::http::ClusterId;
use windlass_net::clock::ProcessClock;
use windlass_net::shutdown::ShutdownReceiver;
use windlass_store::archive::Archive;
use windlass_store::journal::Journal;
use windlass_store::logs::NotifyingLogStore;
use windlass_store::objects::ObjectStore;

use super::access::FileTokens;
use super::allowed_hosts::AllowedHosts;
use super::api_error::ApiError;
use super::events::SseLimits;
use super::objects::ObjectAnswerBudget;
use super::plain_worker::PlainWorkerProxies;
use super::planning_limit::PlanningLimit;
use super::rate_limit::{self, RequestRateLimit};
use super::refusal_log::RefusalLog;
use crate::replica::UpstreamCluster;
use crate::{EngineView, LogIngest, NodeHandle, RunHistories};

/// The state that handlers share.
#[derive(Debug)]
pub struct Api {
    pub(super) handle: NodeHandle,
    pub(super) stores: ApiStores,
    pub(super) identity: ControllerIdentity,
    pub(super) clock: fn() -> Time,
    /// A monotonic clock, for rate limits and the pauses of log lines.
    pauses: ProcessClock,
    /// The tokens of the token file.
    pub(super) tokens: FileTokens,
    /// Whether other controllers may lead the same stores.
    pub(super) mode: ControllerMode,
    /// The leader's cluster, for a read-only replica.
    pub(super) upstream: Option<Arc<UpstreamCluster>>,
    /// Whether this is the control socket, which only its owner can open and which requires no token.
    pub(super) is_owners: bool,
    /// The allowed hosts; `None` allows all, on the control socket.
    pub(super) hosts: Option<AllowedHosts>,
    /// The rate limits of clients.
    pub(super) rates: RequestRateLimit,
    /// The log of refusals.
    pub(super) refusals: RefusalLog,
    /// Whether the controller shuts down.
    pub(super) ending: Option<ShutdownReceiver>,
    /// The intake for output of steps.
    pub(super) intake: LogIngest,
    /// The proxies of plain workers.
    pub(super) proxies: PlainWorkerProxies,
    /// The limits of event streams.
    pub(super) streams: SseLimits,
    /// The limit of submissions that are planned at a time.
    pub(super) planning: PlanningLimit,
    /// The memory of objects in answers.
    pub(super) object_answers: ObjectAnswerBudget,
}

/// The stores that handlers read.
#[derive(Clone, Debug)]
pub struct ApiStores {
    /// Sealed runs.
    pub archive: Arc<dyn Archive>,
    /// The output of steps. All writers in this process use this instance, which notifies readers.
    pub logs: Arc<NotifyingLogStore>,
    /// Histories of runs that are not sealed.
    pub histories: Arc<RunHistories>,
    /// The journal.
    pub journal: Arc<dyn Journal>,
    /// The files of steps; `None` if this controller has no place for them.
    pub objects: Option<Arc<dyn ObjectStore>>,
}

/// Which controllers can lead the stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControllerMode {
    /// Only this one. It answers reads whether it leads or not.
    Exclusive,
    /// This one or another. Only the leader answers.
    Shared,
    /// Always another one: this one has no stores and answers only reads.
    ReadOnlyReplica,
}

/// The identity of a controller.
#[derive(Clone, Debug)]
pub struct ControllerIdentity {
    /// The id of the cluster.
    pub cluster: ClusterId,
    /// The advertised address.
    pub advertise: String,
}

impl Api {
    /// Creates the API of the node behind the handle.
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
            object_answers: ObjectAnswerBudget::default(),
        }
    }

    /// Adds tokens of a token file. Without any, and without one in the store, requests need no token.
    #[must_use]
    pub fn with_tokens(self, tokens: FileTokens) -> Self {
        Self { tokens, ..self }
    }

    /// Sets which controllers can lead the stores.
    #[must_use]
    pub fn with_mode(self, company: ControllerMode) -> Self {
        Self { mode: company, ..self }
    }

    /// Makes this the API of a read-only replica of this cluster.
    #[must_use]
    pub fn observing(self, upstream: Arc<UpstreamCluster>) -> Self {
        Self { mode: ControllerMode::ReadOnlyReplica, upstream: Some(upstream), ..self }
    }

    /// Makes this the API of a control socket, which only its owner can open.
    #[must_use]
    pub fn for_owner(self) -> Self {
        Self { is_owners: true, ..self }
    }

    /// Whether requests need a token.
    pub(super) fn requires_token(&self) -> bool {
        !self.tokens.is_empty()
            || self.handle.views().with(|view| view.engine.keys().requires_token())
    }

    /// Sets the hosts that requests may name.
    #[must_use]
    pub fn with_allowed_hosts(self, hosts: AllowedHosts) -> Self {
        Self { hosts: Some(hosts), ..self }
    }

    /// Sets the rate limit for each token or address.
    #[must_use]
    pub fn with_rate_limit(self, rate: BucketRate) -> Self {
        Self { rates: RequestRateLimit::new(rate), ..self }
    }

    /// Sets the function that prints lines about unauthorized requests.
    #[must_use]
    pub fn with_refusal_log(self, tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { refusals: RefusalLog::new(tell), ..self }
    }

    /// Sets another clock for the time of the system.
    #[must_use]
    pub fn with_clock(self, clock: fn() -> Time) -> Self {
        Self { clock, ..self }
    }

    /// Sets the receiver of the shutdown, from which on the controller is not ready.
    #[must_use]
    pub fn with_shutdown(self, ending: ShutdownReceiver) -> Self {
        Self { ending: Some(ending), ..self }
    }

    /// The refusal of a controller that does not lead, if others can lead its stores.
    pub(super) fn deposed(&self, is_read: bool) -> Option<ApiError> {
        match self.mode {
            ControllerMode::Exclusive => return None,
            ControllerMode::ReadOnlyReplica if is_read => return None,
            ControllerMode::Shared | ControllerMode::ReadOnlyReplica => {}
        }
        let leader = |view: &EngineView| (!view.leads()).then(|| view.led_by.clone());
        let leader = self.handle.views().with(leader)?;
        Some(ApiError::not_leader(leader.as_ref()))
    }

    pub(super) fn now(&self) -> Time {
        (self.clock)()
    }

    /// The time since this API was created, by a monotonic clock.
    pub(super) fn elapsed(&self) -> Time {
        self.pauses.now()
    }

    /// The later of the system's time and the journal's time. An expired token does not become valid again if the clock of
    /// the system is set back.
    pub(super) fn latest_now(&self) -> Time {
        self.now().max(self.handle.views().with(EngineView::journal_now))
    }
}
