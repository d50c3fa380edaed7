//! The tasks beside the node of a local run: the sockets of the leader, and the watch over other processes.

use std::sync::Arc;

use tokio::task::JoinSet;
use windlass_controller::api::ControllerIdentity;
use windlass_net::shutdown::ShutdownSender;
use windlass_store::logs::NotifyingLogStore;

use super::local_worker::WorkerPlace;
use super::options::LocalRunOptions;
use crate::embedded::{EmbeddedNode, LeaderSockets, OwnerWatch, Stores};

/// Tasks that run until the node has ended.
pub(super) struct NodeTasks {
    tasks: JoinSet<()>,
    shutdown: ShutdownSender,
}

impl NodeTasks {
    /// Starts the tasks of a node whose stores are in a folder. A run in memory has none.
    pub(super) fn start(
        order: &LocalRunOptions,
        (stores, logs): (&Stores, &Arc<NotifyingLogStore>),
        node: &EmbeddedNode,
        place: &WorkerPlace,
    ) -> Self {
        let (shutdown, ends) = ShutdownSender::new();
        let mut tasks = JoinSet::new();
        if let Some(folder) = &order.store {
            let about =
                ControllerIdentity { cluster: "local".to_owned(), advertise: String::new() };
            let api = node.api(stores, logs, about);
            let sockets = LeaderSockets::new(folder, node.handle().clone(), api);
            tasks.spawn(sockets.run(ends.clone()));
            let own = place.worker_place().worker();
            let watch = OwnerWatch::new(folder.clone(), node.handle().clone(), Some(own));
            tasks.spawn(watch.run(ends));
        }
        Self { tasks, shutdown }
    }

    /// Ends the tasks.
    pub(super) async fn end(mut self) {
        self.shutdown.shut_down();
        while self.tasks.join_next().await.is_some() {}
    }
}
