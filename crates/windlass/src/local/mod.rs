//! A whole node in one process: store, leader and worker, joined by the in-process link.
//!
//! ```text
//!  Stores ──► Node ◄──in-process link── Worker ──► Builtin executor ──► Guard
//!               └──► Maintenance (archive, snapshots)
//! ```
//!
//! `windlass run` and programs with typed steps are this. Nobody else can take over its store, so leader and worker share
//! one fate: a closed lid or Ctrl-Z ends no lease.

mod address;
mod clock;
mod cluster;
#[cfg(feature = "sqlite")]
mod condemn;
mod name_wait;
#[cfg(feature = "http")]
mod node_link;
#[cfg(feature = "sqlite")]
mod peek;
mod records;
#[cfg(all(unix, feature = "http"))]
mod socket;
mod station;
mod stores;
mod tee;
#[cfg(all(feature = "postgres", feature = "sqlite"))]
mod transfer;

pub use address::StoreAddress;
pub use clock::system_now;
pub use cluster::{cluster_id, is_of_cluster};
#[cfg(feature = "sqlite")]
pub use condemn::{CondemnError, condemn};
pub use name_wait::{NameWait, Tell};
#[cfg(feature = "http")]
pub use node_link::NodeLink;
#[cfg(feature = "sqlite")]
pub use peek::peek;
pub use records::Records;
#[cfg(all(unix, feature = "http"))]
pub use socket::{Socket, SocketError, cancel, is_led, leader_at};
#[cfg(all(feature = "http", feature = "sqlite"))]
pub(crate) use station::TTL;
pub use station::{Crew, Office, Station, StationError};
pub use stores::Stores;
pub use tee::{Printed, Tee};
#[cfg(all(feature = "postgres", feature = "sqlite"))]
pub use transfer::{Copied, TransferError, transfer};
