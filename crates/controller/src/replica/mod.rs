//! The read-only replica: a controller that follows another one's journal over HTTP and decides nothing.
//!
//! ```text
//!  leader ──GET /journal?after=──► ReplicaJournal ──► node, which stands by forever ──► view ──► the same API, read-only
//!         ──GET /journal/snapshot─► (at the start, and if the next event was pruned from the journal)
//!         ◄── requests for logs and sealed runs, which only stores have, are forwarded to the leader
//! ```
//!
//! A replica is a node like any other, with a journal that can be read and not led, so it applies and shows events like
//! any other node. Every answer states its age: the time since the replica last had every event of the journal.

mod replica_journal;
mod upstream;

pub use replica_journal::ReplicaJournal;
pub use upstream::UpstreamCluster;
