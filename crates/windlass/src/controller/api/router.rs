//! Which path leads where, and what every answer may draw on.

use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::handler::Handler as _;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::{Extension, Router};
use windlass_core::access::Scope;
use windlass_core::rate::Rate;
use windlass_core::time::Time;

use super::access::{self, FileTokens, Gate};
use super::body_budget::BodyBudget;
use super::events::Streams;
use super::foreign::Proxies;
use super::hosts::{self, Hosts};
use super::input::BodyLimit;
use super::planning::Planning;
use super::rates::{self, Rates};
use super::refusal_log::RefusalLog;
use super::refused::Refused;
use super::routes::{Answers, Needs, Route, routes};
use super::{documents, input, leading, metrics, observed};
use crate::archive::Archive;
use crate::clock::Clock;
use crate::controller::observing::Upstream;
use crate::controller::{Handle, Histories, Intake, View};
use crate::journal::Journal;
use crate::link::http::ClusterId;
use crate::logs::Announced;
use crate::shutdown::Shutdown;

/// The most bytes of a body: an exchange has at most half of it in outputs, and a request with logs as much as it was
/// given credit for.
const BODY_MAX: usize = 2 << 20;

/// What an API answers from.
#[derive(Debug)]
pub struct Api {
    pub(super) handle: Handle,
    pub(super) kept: Kept,
    pub(super) about: About,
    pub(super) clock: fn() -> Time,
    /// What pauses between requests and between lines are counted on: nothing sets it back.
    pauses: Clock,
    /// Tokens that are in no store.
    pub(super) tokens: FileTokens,
    /// Who else may lead the same stores.
    pub(super) company: Company,
    /// Whom an observer asks for what only stores have.
    pub(super) upstream: Option<Arc<Upstream>>,
    /// Whether only the user of this machine gets here, who need not show anything.
    pub(super) is_owners: bool,
    /// What it is known by; by anything, where only this machine's user gets in.
    pub(super) hosts: Option<Hosts>,
    /// How much may still be asked by whom.
    pub(super) rates: Rates,
    /// Where it is told that requests were refused.
    pub(super) refusals: RefusalLog,
    /// Whether it is about to end.
    pub(super) ending: Option<Shutdown>,
    /// What takes in what steps print.
    pub(super) intake: Intake,
    /// Who speaks for which foreign worker.
    pub(super) proxies: Proxies,
    /// Who follows what happens.
    pub(super) streams: Streams,
    /// Which submissions are being planned.
    pub(super) planning: Planning,
}

/// Where runs that ended and what steps printed are kept.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Runs that ended.
    pub archive: Arc<dyn Archive>,
    /// What steps print: everybody in this process writes to it through this.
    pub logs: Arc<Announced>,
    /// Runs that are not sealed.
    pub histories: Arc<Histories>,
    /// What happened, whatever it is about.
    pub journal: Arc<dyn Journal>,
}

/// Who can lead the stores of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Company {
    /// Nobody else: what is durable is told whether it leads or not.
    Alone,
    /// Others at times: only who leads answers.
    Others,
    /// Others, always: it has no stores, and answers who only wants to know.
    Observer,
}

/// What a controller says of itself.
#[derive(Clone, Debug)]
pub struct About {
    /// Which cluster this is.
    pub cluster: ClusterId,
    /// Where it wants to be reached.
    pub advertise: String,
}

impl Api {
    /// The API of the node behind the handle.
    pub fn new(handle: Handle, kept: Kept, about: About, clock: fn() -> Time) -> Self {
        let (histories, logs) = (Arc::clone(&kept.histories), Arc::clone(&kept.logs));
        let intake = Intake::new(handle.clone(), histories, logs);
        Self {
            handle,
            kept,
            about,
            clock,
            pauses: Clock::of_runtime(),
            tokens: FileTokens::new(&[]),
            company: Company::Alone,
            upstream: None,
            is_owners: false,
            hosts: None,
            rates: Rates::new(rates::USUAL),
            refusals: RefusalLog::default(),
            ending: None,
            intake,
            proxies: Proxies::default(),
            streams: Streams::default(),
            planning: Planning::default(),
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
    pub fn in_company(self, company: Company) -> Self {
        Self { company, ..self }
    }

    /// The same, of a controller that observes this cluster and has no stores.
    #[must_use]
    pub fn observing(self, upstream: Arc<Upstream>) -> Self {
        Self { company: Company::Observer, upstream: Some(upstream), ..self }
    }

    /// The same, behind a door that only the user of this machine can open.
    #[must_use]
    pub fn for_owner(self) -> Self {
        Self { is_owners: true, ..self }
    }

    /// Whether who comes has to show something.
    pub(super) fn asks(&self) -> bool {
        !self.tokens.is_empty() || self.handle.views().look(|view| view.engine.keys().asks())
    }

    /// The same, for requests that call it by one of its names.
    #[must_use]
    pub fn known_as(self, hosts: Hosts) -> Self {
        Self { hosts: Some(hosts), ..self }
    }

    /// The same, which takes so many requests from one token or address.
    #[must_use]
    pub fn at_rate(self, rate: Rate) -> Self {
        Self { rates: Rates::new(rate), ..self }
    }

    /// The same, which tells that requests without authorization were refused, now and then.
    #[must_use]
    pub fn telling_refusals(self, tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { refusals: RefusalLog::new(tell), ..self }
    }

    /// The same with another clock for the time of the system.
    #[must_use]
    pub fn by_clock(self, clock: fn() -> Time) -> Self {
        Self { clock, ..self }
    }

    /// The same, which says that it is not ready any more from the moment on that it is about to end.
    #[must_use]
    pub fn until(self, ending: Shutdown) -> Self {
        Self { ending: Some(ending), ..self }
    }

    /// Why this controller does not answer, if others lead its stores and it does not.
    pub(super) fn deposed(&self, is_read: bool) -> Option<Refused> {
        match self.company {
            Company::Alone => return None,
            Company::Observer if is_read => return None,
            Company::Others | Company::Observer => {}
        }
        let leader = |view: &View| (!view.leads()).then(|| view.led_by.clone());
        let leader = self.handle.views().look(leader)?;
        Some(Refused::not_leader(leader.as_ref()))
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
        self.now().max(self.handle.views().look(View::journal_now))
    }
}

/// The routes of an API.
pub fn router(api: Arc<Api>) -> Router {
    let mut router = Router::new();
    for Route { path, needs, answers, handler, .. } in routes() {
        let gate = Gate { api: Arc::clone(&api), needs };
        let handler = match answers {
            Answers::WhoLeads => {
                handler.layer(from_fn_with_state(Arc::clone(&api), observed::answer))
            }
            Answers::Each => handler,
        };
        let counted = handler.layer(from_fn_with_state(gate.clone(), rates::count));
        let mut guarded = counted.layer(from_fn_with_state(gate, access::check));
        if answers == Answers::WhoLeads {
            guarded = guarded.layer(from_fn_with_state(Arc::clone(&api), leading::check));
        }
        router = router.route(path, guarded);
    }
    // What there is not is not told to everybody either.
    let gate = Gate { api: Arc::clone(&api), needs: Needs::Scope(Scope::Read) };
    let gate = from_fn_with_state(gate, access::check);
    let no_such_path = || async { Refused::no_such_path() };
    let no_such_method = || async { Refused::no_such_method() };
    router
        .fallback(no_such_path.layer(gate.clone()))
        .method_not_allowed_fallback(no_such_method.layer(gate))
        .layer(from_fn_with_state(Arc::clone(&api), hosts::check))
        .layer(from_fn(documents::finish))
        .layer(from_fn(input::check_length))
        .layer(from_fn_with_state(Arc::clone(&api), rates::count_refused))
        .layer(DefaultBodyLimit::max(BODY_MAX))
        .layer(Extension(BodyLimit(BODY_MAX)))
        .layer(Extension(BodyBudget::default()))
        .layer(from_fn(documents::forbid_sniffing))
        .layer(from_fn_with_state(Arc::clone(&api), metrics::measure))
        .with_state(api)
}
