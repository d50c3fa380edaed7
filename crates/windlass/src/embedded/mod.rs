//! A whole node in one process: store, leader and worker, connected by the in-process link.
//!
//! ```text
//!  Stores ──► Node ◄──in-process link── Worker ──► Builtin executor ──► Guard
//!               └──► Maintenance (archive, snapshots)
//! ```
//!
//! `windlass run` and programs with typed steps are such a node. No other node can take over its store, so leader and
//! worker end together, and no lease ends while the machine sleeps or the process is stopped.

mod address;
mod clock;
mod cluster_id;
#[cfg(feature = "sqlite")]
mod condemn;
#[cfg(all(unix, feature = "http"))]
mod control_socket;
mod echo_log_store;
mod embedded_node;
mod name_wait_link;
#[cfg(feature = "http")]
mod node_link;
#[cfg(feature = "sqlite")]
mod read_state;
mod store_reader;
mod stores;
mod submitted_run;
#[cfg(all(feature = "postgres", feature = "sqlite"))]
mod transfer;

pub use address::StoreAddress;
pub use clock::system_now;
pub use cluster_id::{cluster_id, is_of_cluster};
#[cfg(feature = "sqlite")]
pub use condemn::{CondemnError, condemn};
#[cfg(all(unix, feature = "http"))]
pub use control_socket::{ControlSocket, ControlSocketError, cancel, is_led, leader_client};
pub use echo_log_store::{EchoLogStore, EchoedChunk};
#[cfg(all(feature = "http", feature = "sqlite"))]
pub(crate) use embedded_node::EMBEDDED_LEASE_TTL;
pub use embedded_node::{EmbeddedNode, EmbeddedNodeError, LeaderOptions, LocalWorkerOptions};
pub use name_wait_link::{NameWaitLink, OperatorMessages};
#[cfg(feature = "http")]
pub use node_link::NodeLink;
#[cfg(feature = "sqlite")]
pub use read_state::read_state;
pub use store_reader::StoreReader;
pub use stores::Stores;
pub(crate) use submitted_run::{RunEventReader, SubmittedRun};
#[cfg(all(feature = "postgres", feature = "sqlite"))]
pub use transfer::{TransferError, TransferTotals, transfer};
