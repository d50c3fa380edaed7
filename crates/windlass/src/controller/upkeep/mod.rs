//! What a leader does beside leading: it seals runs that ended, saves snapshots, and lets go what both have made
//! superfluous.
//!
//! ```text
//!  journal ──► histories: the events of each run ──(ended a TTL ago)──► archive.keep ──► Seal ──► it leaves the engine
//!  view ──(every so many events)──► journal.save(snapshot) ──► journal.prune
//! ```
//!
//! None of it is urgent, all of it can be repeated, and nothing is lost if it is not done: a node that starts anew reads
//! the events of runs that are not sealed from the journal, which keeps them until they are.

mod duties;

pub use duties::{Keeping, Upkeep};
