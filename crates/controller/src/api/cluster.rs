//! The description of the cluster, and the health of this controller.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;
use windlass_core::id::Term;
use windlass_core::json_form::AsWord;
use windlass_link::http::{ClusterDescription, ClusterLeader, ControllerRole};
use windlass_net::http::PROTOCOL;
use windlass_net::shutdown::ShutdownReceiver;
use windlass_store::db::StoreError;
use windlass_store::journal::{CurrentLeader, Position};

use super::api_error::ApiError;
use super::api_state::{Api, ControllerMode};
use super::extract::QueryParams;
use crate::EngineView;

/// The longest time since a ready standby last read the journal. It reads several times per second.
const LAG_MAX: Duration = Duration::from_secs(5);

/// `GET /healthz`: the process answers.
pub(super) async fn health() -> &'static str {
    "ok\n"
}

/// The parameters of `/readyz`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ReadyQuery {
    /// Require that the controller leads; any value, also an empty one, counts.
    leader: Option<String>,
}

/// `GET /readyz`, `GET /readyz?leader`: whether to send requests to this controller. A standby answers reads too.
pub(super) async fn ready(
    State(api): State<Arc<Api>>,
    QueryParams(query): QueryParams<ReadyQuery>,
) -> Result<&'static str, ApiError> {
    let unready = |code, why: String| ApiError::new(StatusCode::SERVICE_UNAVAILABLE, code, why);
    if api.ending.as_ref().is_some_and(ShutdownReceiver::is_due) {
        return Err(unready("ending", "this controller is about to end: ask another".to_owned()));
    }
    let how = api.handle.views().with(ControllerStatus::of);
    if let Some(error) = how.stalled {
        return Err(unready("stalled", format!("nothing becomes durable at the moment: {error}")));
    }
    if let Some(error) = api.stores.histories.archive_failure().filter(|_| how.leads) {
        let why = format!("runs that have ended cannot be archived at the moment: {error}");
        return Err(unready("stalled", why));
    }
    if query.leader.is_some() && !how.leads {
        return Err(ApiError::not_leader(how.led_by.as_ref()));
    }
    if how.lag > LAG_MAX {
        let lag = how.lag.as_secs();
        return Err(unready("behind", format!("it has not read the journal for {lag} s")));
    }
    Ok("ready\n")
}

/// The status of this controller.
struct ControllerStatus {
    leads: bool,
    led_by: Option<CurrentLeader>,
    stalled: Option<StoreError>,
    term: Term,
    position: Position,
    lag: Duration,
}

impl ControllerStatus {
    fn of(view: &EngineView) -> Self {
        let leads = view.leads();
        let lag = if leads { Duration::ZERO } else { view.caught_up.elapsed() };
        let (led_by, stalled) = (view.led_by.clone(), view.stalled.clone());
        Self { leads, led_by, stalled, term: view.engine.term(), position: view.position, lag }
    }
}

/// `GET /cluster`
pub(super) async fn show(State(api): State<Arc<Api>>) -> Json<ClusterDescription> {
    let how = api.handle.views().with(ControllerStatus::of);
    Json(ClusterDescription {
        role: AsWord(role(api.mode, how.leads)),
        leader: how.led_by.map(|CurrentLeader { node, address }| ClusterLeader { node, address }),
        term: how.term.0,
        position: how.position.0,
        lag_ms: u64::try_from(how.lag.as_millis()).unwrap_or(u64::MAX),
        id: api.identity.cluster.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        protocol: PROTOCOL,
        advertise: api.identity.advertise.clone(),
    })
}

const fn role(mode: ControllerMode, leads: bool) -> ControllerRole {
    match mode {
        // No other controller can lead an exclusive store.
        ControllerMode::Exclusive => ControllerRole::Leader,
        ControllerMode::Shared if leads => ControllerRole::Leader,
        ControllerMode::Shared => ControllerRole::Standby,
        ControllerMode::ReadOnlyReplica => ControllerRole::Observer,
    }
}
