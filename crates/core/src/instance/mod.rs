//! Runs that several processes share without a controller: which instance leads, which ones work, and what they leave
//! behind.
//!
//! CI services start N processes that know their number and cannot reach each other. Instance 0 leads and works, the
//! others work. They meet at a link, under a name that all of them can derive. This module decides the role of a
//! process from its settings alone.

mod final_status;
mod rendezvous;
mod role;

pub use final_status::RunFinalStatus;
pub use rendezvous::{CiVariables, InstanceRendezvous};
pub use role::{INSTANCES_MAX, InstanceGroup, InstanceOptions, InstanceRoleError, SharedRunRole};
