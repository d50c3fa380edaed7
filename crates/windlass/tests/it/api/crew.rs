//! A controller whose worker does what it is allowed to.

use std::sync::Arc;

use tokio::sync::{Semaphore, watch};
use windlass::core::outcome::{Outcome, OutcomeKind};
use windlass::core::requirement::Labels;
use windlass::core::session::Grant;
use windlass::local::Crew;
use windlass::worker::{Attempt, Beside, Executor, Orders};

use super::arrange::Controller;

/// Does as many steps as it is allowed to, and stops when it is told to.
#[derive(Debug)]
struct Allowed(Arc<Semaphore>);

impl Executor for Allowed {
    fn start(&self, _: Grant, mut orders: watch::Receiver<Orders>) -> Attempt {
        let allowed = Arc::clone(&self.0);
        Box::pin(async move {
            tokio::select! {
                permit = allowed.acquire() => {
                    permit.expect("nobody closes it").forget();
                    Outcome::exit(0)
                }
                _ = orders.wait_for(|orders| orders.stop.is_some()) => {
                    Outcome::plain(OutcomeKind::Cancelled)
                }
            }
        })
    }
}

/// A controller with a worker, and what the worker may do.
pub(super) async fn working() -> (Controller, Arc<Semaphore>) {
    let mut controller = Controller::start().await;
    let allowed = Arc::new(Semaphore::new(0));
    let executor = Arc::new(Allowed(Arc::clone(&allowed)));
    let labels = Labels::new(["linux"]);
    let crew = Crew {
        name: "here".to_owned(),
        slots: 8,
        labels,
        beside: Beside::Nobody,
        executor,
        life: None,
    };
    controller.station.work(crew).await.expect("it works");
    (controller, allowed)
}
