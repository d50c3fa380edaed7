//! A controller whose worker performs a limited number of steps.

use std::sync::Arc;

use tokio::sync::{Semaphore, watch};
use windlass::core::outcome::{Outcome, OutcomeKind};
use windlass::core::requirement::{Labels, WorkerScope};
use windlass::core::session::LeaseGrant;
use windlass::embedded::{LocalWorkerOptions, LocalWorkerPlace};
use windlass_worker::{AttemptFuture, AttemptOrders, Executor, PeerWorkers};

use crate::support::in_process_controller::InProcessController;

/// Performs as many steps as the budget allows, and stops on request.
#[derive(Debug)]
struct StepBudgetExecutor(Arc<Semaphore>);

impl Executor for StepBudgetExecutor {
    fn start(&self, _: LeaseGrant, mut orders: watch::Receiver<AttemptOrders>) -> AttemptFuture {
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

/// A controller with a worker, and the budget of the worker.
pub(super) async fn working() -> (InProcessController, Arc<Semaphore>) {
    let mut controller = InProcessController::start().await;
    let allowed = Arc::new(Semaphore::new(0));
    let executor = Arc::new(StepBudgetExecutor(Arc::clone(&allowed)));
    let labels = Labels::new(["linux"]);
    let worker = LocalWorkerOptions {
        place: LocalWorkerPlace::Exclusive,
        name: "here".to_owned(),
        slots: 8,
        labels,
        scope: WorkerScope::AllRuns,
        beside: PeerWorkers::Never,
        executor,
        orphan_guard: None,
    };
    controller.node.start_worker(worker).await.expect("it works");
    (controller, allowed)
}
