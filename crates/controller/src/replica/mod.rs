//! A controller that observes: it follows another one's journal over HTTP and decides nothing.
//!
//! ```text
//!  leader ──GET /journal?after=──► ObservedJournal ──► Node, which stands by for ever ──► Views ──► the same API, read only
//!         ──GET /journal/snapshot─► (at the start, and where what comes next has left the journal)
//!         ◄── what only stores have (logs, runs that were sealed): asked of the leader for who asks here
//! ```
//!
//! It is a node like any other whose journal can be read and not led, so nothing folds or shows in another way. How old
//! what it says may be is how long ago it had everything that there was; it tells that with every answer.

mod replica_journal;
mod upstream;

pub use replica_journal::ReplicaJournal;
pub use upstream::UpstreamCluster;
