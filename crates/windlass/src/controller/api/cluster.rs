//! Which cluster this is, and whether it is well.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use windlass_core::id::Term;

use super::input::Query;
use super::refused::Refused;
use super::router::{Api, Company};
use crate::controller::View;
use crate::journal::{Leading, Position};
use crate::link::http::{Cluster, Leader, PROTOCOL, Role};
use crate::shutdown::Shutdown;
use crate::store::StoreError;

/// How long ago a controller that stands by may have read the journal last: it does so several times a second.
const LAG_MAX: Duration = Duration::from_secs(5);

/// `GET /healthz`: the process answers.
pub(super) async fn health() -> &'static str {
    "ok\n"
}

/// Who has to be ready.
#[derive(Debug, Deserialize)]
pub(super) struct Ready {
    /// Present, with whatever value: whoever leads.
    leader: Option<String>,
}

/// `GET /readyz`, `GET /readyz?leader`: whether to send it requests. It need not lead to be asked what is durable.
pub(super) async fn ready(
    State(api): State<Arc<Api>>,
    Query(asked): Query<Ready>,
) -> Result<&'static str, Refused> {
    let unready = |code, why: String| Refused::new(StatusCode::SERVICE_UNAVAILABLE, code, why);
    if api.ending.as_ref().is_some_and(Shutdown::is_due) {
        return Err(unready("ending", "this controller is about to end: ask another".to_owned()));
    }
    let how = api.handle.views().look(How::of);
    if let Some(error) = how.stalled {
        return Err(unready("stalled", format!("nothing becomes durable at the moment: {error}")));
    }
    if let Some(error) = api.kept.histories.archive_failure().filter(|_| how.leads) {
        let why = format!("runs that have ended cannot be archived at the moment: {error}");
        return Err(unready("stalled", why));
    }
    if asked.leader.is_some() && !how.leads {
        return Err(Refused::not_leader(how.led_by.as_ref()));
    }
    if how.lag > LAG_MAX {
        let lag = how.lag.as_secs();
        return Err(unready("behind", format!("it has not read the journal for {lag} s")));
    }
    Ok("ready\n")
}

/// How a controller stands.
struct How {
    leads: bool,
    led_by: Option<Leading>,
    stalled: Option<StoreError>,
    term: Term,
    position: Position,
    lag: Duration,
}

impl How {
    fn of(view: &View) -> Self {
        let leads = view.leads();
        let lag = if leads { Duration::ZERO } else { view.caught_up.elapsed() };
        let (led_by, stalled) = (view.led_by.clone(), view.stalled.clone());
        Self { leads, led_by, stalled, term: view.engine.term(), position: view.position, lag }
    }
}

/// `GET /cluster`
pub(super) async fn show(State(api): State<Arc<Api>>) -> Json<Cluster> {
    let how = api.handle.views().look(How::of);
    // Nobody else can lead stores of its own.
    let role = match api.company {
        Company::Alone => Role::Leader,
        Company::Others if how.leads => Role::Leader,
        Company::Others => Role::Standby,
        Company::Observer => Role::Observer,
    };
    Json(Cluster {
        role,
        leader: how.led_by.map(|Leading { node, address }| Leader { node, address }),
        term: how.term.0,
        position: how.position.0,
        lag_ms: u64::try_from(how.lag.as_millis()).unwrap_or(u64::MAX),
        id: api.about.cluster.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        protocol: PROTOCOL,
        advertise: api.about.advertise.clone(),
    })
}
