//! A cluster over HTTP on loopback: a controller and workers as separate processes.
//!
//! A worker inside the benchmark records when it receives a step, so that one clock measures all times. It runs the first and
//! the last step of each run; the worker processes run the others.

mod controller;
mod idle;
mod pipelines;
mod rows;
mod running_cluster;

pub(crate) use controller::{ClusterSite, ControllerProcess};
pub(crate) use pipelines::{fan, one_after_the_other};
pub(crate) use rows::{rows, time_to_executor_rows};
pub(crate) use running_cluster::RunningCluster;
