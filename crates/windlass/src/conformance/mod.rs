//! What every journal, archive, log store and link must do, as checks that a backend runs in one line.
//!
//! ```
//! use windlass::archive::MemoryArchive;
//! use windlass::conformance::{self, Shared};
//! use windlass::core::time::Time;
//! use windlass::journal::MemoryJournal;
//! use windlass::link::post::MemoryMailboxes;
//! use windlass::logs::MemoryLogs;
//!
//! conformance::journal("memory", || Shared::new(MemoryJournal::new(|| Time::ZERO)));
//! conformance::archive("memory", || Shared::archive(MemoryArchive::new()));
//! conformance::logs("memory", || Shared::logs(MemoryLogs::new()));
//! conformance::link("memory", || Shared::mailboxes(MemoryMailboxes::new()));
//! ```
//!
//! The argument makes new, empty storage each time it is called: a [`Harness`]. A backend whose stores outlive their
//! handles gives a function that opens another handle on the same storage, and the checks on reopening are run too. A
//! handle stands for a process: when it is dropped, its term must end as it would with the process.
//!
//! Every check runs, and all that failed are told at once, each with the backend, its name and what differed. A check is
//! a function whose name is the promise; [`CHECKS`] lists those of journals, [`ARCHIVE_CHECKS`], [`LOG_CHECKS`] and
//! [`LINK_CHECKS`] the others.
//!
//! | file | what it holds |
//! |---|---|
//! | `append` | what an append does, and when a batch counts as a repeat |
//! | `positions` | contiguous positions; what does not follow the head is refused |
//! | `terms` | one leader at a time; nothing is written under a term that has passed |
//! | `tail` | reading in pages; what was written reads the same |
//! | `snapshot` | snapshots, and what may leave because they are there |
//! | `crash` | answers that are lost on the way |
//! | `reopen` | what is there after a restart |
//! | `model` | random operations answer like the journal in memory |
//! | `archive`, `keys` | runs that ended read as before and are found; a submission repeated is one run |
//! | `logs` | bytes at offsets, once and in order |
//! | `binding`, `letters` | one leader at a place with mailboxes; letters arrive, within bounds |
//! | `storm` | a leader and workers over a link, in bad weather |
//! | `suite`, `stores`, `links`, `check` | the lists of checks, and running them |
//! | `report`, `harness` | telling what failed, coming to the storage |
//! | `vocabulary`, `specimens`, `history` | leaders and batches, one event of each kind, and a real history |
//! | `faults`, `disk` | a wrapper that loses, holds up and refuses calls; a disk that can be filled |
//! | `weather` | what a link may do to letters |

mod append;
mod archive;
mod binding;
mod check;
mod condemned;
mod crash;
mod disk;
mod faults;
mod harness;
mod history;
mod keys;
mod letters;
mod links;
mod logs;
mod mate;
mod model;
mod positions;
mod reopen;
mod report;
mod snapshot;
mod specimens;
mod stores;
mod storm;
mod suite;
mod tail;
mod terms;
mod vocabulary;
mod weather;

pub use check::Check;
pub use disk::Disk;
pub use faults::{Call, Fault, Faulty, Gate};
pub use harness::{Fresh, Handle, Harness, Shared};
pub use history::{History, history};
pub use links::{LINK_CHECKS, examine_link, examine_link_by, link};
pub use mate::{mate, sealed_run};
pub use report::{Checked, Difference, Failure, Report};
pub use specimens::{KINDS, kind, specimens};
pub use stores::{ARCHIVE_CHECKS, LOG_CHECKS, archive, examine_archive, examine_logs, logs};
pub use suite::{CHECKS, examine, journal};
pub use vocabulary::{Writer, block_on, everything, fold};
pub use weather::{Stormy, Weather};
