//! Runs that several processes share without a controller: which of them leads, which work, and what they leave behind.
//!
//! CI services start N processes that know their number and cannot reach each other. Number 0 leads and works, the others
//! work; they meet at a link, under a name that they all know without asking. What follows from what a process was told is
//! decided here, from values alone.

mod final_status;
mod rendezvous;
mod role;

pub use final_status::RunFinalStatus;
pub use rendezvous::{CiVariables, InstanceRendezvous};
pub use role::{INSTANCES_MAX, InstanceGroup, InstanceOptions, InstanceRoleError, SharedRunRole};
