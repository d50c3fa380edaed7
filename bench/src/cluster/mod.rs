//! A cluster over HTTP: a controller and workers as processes of their own, on loopback.
//!
//! A worker inside the benchmark tells when it is handed a step, so that one clock measures all: the first and the last
//! step of each run are for it, those between for the worker processes.

mod controller;
mod crew;
mod figures;
mod idle;
mod pipelines;

pub(crate) use controller::{Controller, Site};
pub(crate) use crew::Crew;
pub(crate) use figures::{handed_rows, rows};
pub(crate) use pipelines::{fan, one_after_the_other};
