//! Counts requests over HTTP by the template of their route: the values in a path are no label values.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::histogram::Histogram;

/// Methods that have a label value of their own.
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// The label value of all others.
const OTHER: &str = "other";

/// Requests that were answered.
#[derive(Debug, Default)]
pub struct HttpTraffic(Mutex<BTreeMap<String, RouteTraffic>>);

/// Requests to one route.
#[derive(Debug)]
pub(super) struct RouteTraffic {
    /// The number of requests, by method and status.
    pub(super) requests: BTreeMap<(&'static str, u16), u64>,
    pub(super) seconds: Histogram,
}

impl HttpTraffic {
    /// Counts a request that was answered with a status. A request without a route went to an unknown path. Route and
    /// method have to come from the server's own tables, because they become label values.
    pub fn note(&self, route: Option<&str>, method: &str, status: u16, took: Duration) {
        let route = route.unwrap_or(OTHER);
        let method = METHODS.into_iter().find(|known| *known == method).unwrap_or(OTHER);
        let mut routes = self.routes();
        if !routes.contains_key(route) {
            let (requests, seconds) = (BTreeMap::new(), Histogram::of_seconds());
            routes.insert(route.to_owned(), RouteTraffic { requests, seconds });
        }
        let on = routes.get_mut(route).expect("it is there by now");
        *on.requests.entry((method, status)).or_default() += 1;
        on.seconds.observe_duration(took);
    }

    pub(super) fn routes(&self) -> MutexGuard<'_, BTreeMap<String, RouteTraffic>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
