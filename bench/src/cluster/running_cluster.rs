//! A controller with its workers, and an observer that records when it receives a step.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;

use super::controller::{ClusterSite, ClusterTargets, ControllerProcess};
use super::pipelines::{between, step};
use crate::observer::{DeliveryNotices, ObserverExecutor, ObserverWorkers};
use crate::process::BenchProcess;

pub(crate) const WORKERS: u32 = 2;
pub(crate) const SLOTS: u32 = 64;

/// A cluster at work.
#[derive(Debug)]
pub(crate) struct RunningCluster<'a> {
    pub(super) runtime: &'a Runtime,
    pub(super) name: &'static str,
    pub(super) targets: ClusterTargets,
    // Workers end before their controller does.
    pub(super) workers: Vec<BenchProcess>,
    observer: ObserverWorkers,
    pub(super) notices: DeliveryNotices,
    pub(super) controller: ControllerProcess,
}

impl<'a> RunningCluster<'a> {
    /// Starts a cluster in which every worker has joined and run a step.
    pub(crate) fn start(site: &ClusterSite, runtime: &'a Runtime) -> Self {
        let controller = ControllerProcess::start(site);
        let workers = (0..WORKERS).map(|number| controller.worker(site, number)).collect();
        let (notes, notices) = ObserverExecutor::new();
        let mut hands = ObserverWorkers::new();
        let _inside = runtime.enter();
        match &site.link {
            None => {
                hands.join(std::slice::from_ref(&controller.address), "observer", Arc::new(notes));
            }
            Some(link) => hands.join_by_mailbox(link, "observer", Arc::new(notes)),
        }
        let (name, targets) = (site.name, site.targets);
        let cluster =
            Self { runtime, name, targets, workers, observer: hands, notices, controller };
        let each = |number| format!("crew-{number}");
        let warm: Vec<String> = (0..WORKERS).map(each).collect();
        let steps: String =
            warm.iter().map(|it| step(it, "first", &format!("requires: [{it}]"))).collect();
        cluster.took(&between(&steps, &warm.join(", ")));
        cluster
    }

    /// The time between the first and the last step of a run that the observer receives.
    pub(crate) fn took(&self, pipeline: &str) -> Duration {
        self.runtime.block_on(self.controller.submit(pipeline));
        let began = self.notices.next("the first step of a run");
        self.notices.next("the last step of a run") - began
    }

    /// The memory of its controller now, in MiB.
    pub(crate) fn memory_of_controller(&self) -> f64 {
        self.controller.process.memory()
    }

    /// Ends the cluster.
    pub(crate) fn end(self) {
        self.runtime.block_on(self.observer.end());
    }
}
