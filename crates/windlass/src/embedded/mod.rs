//! A whole node in one process: store, leader and worker, connected by the in-process link.
//!
//! ```text
//!  Stores ──► Node ◄──in-process link── Worker ──► Builtin executor ──► Guard
//!               └──► Maintenance (archive, snapshots)
//! ```
//!
//! `windlass run` and programs with typed steps are such a node. Several processes can share the stores in a folder: each
//! is a node with a worker in a slot of its own, one leads, and the others pass it their requests. No lease ends while the
//! machine sleeps or a process is stopped.

mod address;
#[cfg(all(feature = "postgres", feature = "sqlite"))]
mod backup;
mod clock;
mod cluster_id;
#[cfg(feature = "sqlite")]
mod condemn;
#[cfg(all(unix, feature = "http"))]
mod control_socket;
mod echo_log_store;
mod embedded_node;
#[cfg(all(unix, feature = "http", feature = "sqlite"))]
mod interrupted_run;
#[cfg(all(unix, feature = "http"))]
mod leader_sockets;
mod name_wait_link;
#[cfg(feature = "http")]
mod node_link;
#[cfg(all(unix, feature = "http"))]
mod owner_watch;
#[cfg(feature = "sqlite")]
mod read_state;
mod store_reader;
mod stores;
mod submitted_run;
#[cfg(all(feature = "postgres", feature = "sqlite"))]
mod transfer;
#[cfg(all(unix, feature = "http"))]
mod worker_slot;

pub use address::StoreAddress;
#[cfg(all(feature = "postgres", feature = "sqlite"))]
pub use backup::{StoreBackup, StoreBackupError, backup, restore};
pub use clock::system_now;
pub use cluster_id::{cluster_id, is_of_cluster};
#[cfg(feature = "sqlite")]
pub use condemn::{CondemnError, condemn};
#[cfg(all(unix, feature = "http"))]
pub use control_socket::{ControlSocket, ControlSocketError, cancel, is_led, leader_client};
pub use echo_log_store::{EchoLogStore, EchoedChunk};
#[cfg(all(feature = "http", feature = "sqlite"))]
pub(crate) use embedded_node::EMBEDDED_LEASE_TTL;
pub use embedded_node::{
    EmbeddedNode, EmbeddedNodeError, LeaderOptions, LocalWorkerOptions, LocalWorkerPlace,
};
#[cfg(all(unix, feature = "http", feature = "sqlite"))]
pub(crate) use interrupted_run::{InterruptedRun, cancel_interrupted, until_at_rest};
#[cfg(all(unix, feature = "http"))]
pub use leader_sockets::LeaderSockets;
pub use name_wait_link::{NameWaitLink, OperatorMessages};
#[cfg(feature = "http")]
pub use node_link::NodeLink;
#[cfg(all(unix, feature = "http"))]
pub use owner_watch::OwnerWatch;
#[cfg(all(unix, feature = "http", feature = "sqlite"))]
pub(crate) use owner_watch::runs_of;
#[cfg(feature = "sqlite")]
pub use read_state::read_state;
pub use store_reader::StoreReader;
pub use stores::Stores;
#[cfg(all(feature = "http", feature = "sqlite"))]
pub(crate) use stores::refuse_backup;
pub(crate) use submitted_run::{RunEventReader, SubmittedRun};
#[cfg(all(feature = "postgres", feature = "sqlite"))]
pub use transfer::{StoreCheck, TransferError, TransferTotals, check_store, transfer};
#[cfg(all(unix, feature = "http"))]
pub use worker_slot::WorkerSlot;
