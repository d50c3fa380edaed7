//! Maintenance: the real machine on each node that may lead, with a model of its stores.
//!
//! `driver` runs the machine and carries out its effects in any order, late, without effect, or without an answer. A
//! node also begins with another machine between any two of them. `store` is the archive, the snapshots and the pruned
//! part of the journal. It checks after each effect that nothing is lost.

mod driver;
mod store;

pub(crate) use driver::{MaintenanceModel, SimMaintenanceEvent, sealed_run};
