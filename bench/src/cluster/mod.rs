//! A cluster over HTTP: a controller and workers as processes of their own, on loopback.
//!
//! A worker inside the benchmark tells when it is handed a step, so that one clock measures all: the first and the last
//! step of each run are for it, those between for the worker processes.

mod controller;
mod idle;
mod pipelines;
mod rows;
mod running_cluster;

pub(crate) use controller::{ClusterSite, ControllerProcess};
pub(crate) use pipelines::{fan, one_after_the_other};
pub(crate) use rows::{rows, time_to_executor_rows};
pub(crate) use running_cluster::RunningCluster;
