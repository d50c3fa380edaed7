//! What every journal must do, as checks that a backend runs in one line.
//!
//! ```
//! use windlass::conformance::{self, Shared};
//! use windlass::core::time::Time;
//! use windlass::journal::MemoryJournal;
//!
//! conformance::journal("memory", || Shared::new(MemoryJournal::new(|| Time::ZERO)));
//! ```
//!
//! The argument makes new, empty storage each time it is called: a [`Harness`]. A backend whose journals outlive their
//! handles gives a function that opens another handle on the same storage, and the checks on reopening are run too. A
//! handle stands for a process: when it is dropped, its term must end as it would with the process.
//!
//! Every check runs, and all that failed are told at once, each with the backend, its name and what differed. A check is
//! a function whose name is the promise; [`CHECKS`] lists them.
//!
//! | file | what it holds |
//! |---|---|
//! | `append` | what an append does, and when a batch counts as a repeat |
//! | `positions` | contiguous positions; what does not follow the head is refused |
//! | `terms` | one leader at a time; nothing is written under a term that has passed |
//! | `tail` | reading in pages; what was written reads the same |
//! | `crash` | answers that are lost on the way |
//! | `reopen` | what is there after a restart |
//! | `model` | random operations answer like the journal in memory |
//! | `suite`, `report`, `harness` | running the checks, telling what failed, coming to the storage |
//! | `vocabulary`, `specimens`, `history` | leaders and batches, one event of each kind, and a real history |
//! | `faults` | a wrapper that loses, holds up and refuses calls |

mod append;
mod crash;
mod faults;
mod harness;
mod history;
mod model;
mod positions;
mod reopen;
mod report;
mod specimens;
mod suite;
mod tail;
mod terms;
mod vocabulary;

pub use faults::{Call, Fault, Faulty, Gate};
pub use harness::{Fresh, Handle, Harness, Shared};
pub use history::{History, history};
pub use report::{Checked, Difference, Failure, Report};
pub use specimens::{KINDS, kind, specimens};
pub use suite::{CHECKS, Check, examine, journal};
pub use vocabulary::{Writer, block_on, everything, fold};
