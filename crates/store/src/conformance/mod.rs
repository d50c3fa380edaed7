//! The promises of journals, archives, log stores and object stores, as checks that a backend runs in one line.
//!
//! ```
//! use windlass_core::time::Time;
//! use windlass_store::archive::MemoryArchive;
//! use windlass_store::conformance::{self, SharedStorage};
//! use windlass_store::journal::MemoryJournal;
//! use windlass_store::logs::MemoryLogs;
//! use windlass_store::objects::MemoryObjects;
//!
//! conformance::check_journal("memory", || SharedStorage::new(MemoryJournal::new(|| Time::ZERO)));
//! conformance::check_archive("memory", || SharedStorage::archive(MemoryArchive::new()));
//! conformance::check_logs("memory", || SharedStorage::logs(MemoryLogs::new()));
//! let objects = || MemoryObjects::with_capacity(1 << 30, || Time::ZERO);
//! conformance::check_object_store("memory", || SharedStorage::objects(objects()));
//! ```
//!
//! The argument creates new, empty storage each time it is called: a [`StorageHarness`]. If the stores of a backend
//! outlive their handles, it returns a function that opens another handle on the same storage; then the checks on
//! reopening run too. A handle represents a process: when it is dropped, its term must end as it would with the
//! process.
//!
//! Every check runs, and the report lists all failures, each with the backend, the check and the difference. A check is
//! a function whose name is the promise. [`JOURNAL_CHECKS`] lists those of journals, [`ARCHIVE_CHECKS`],
//! [`LOG_CHECKS`] and [`OBJECT_CHECKS`] the others.
//!
//! | file | content |
//! |---|---|
//! | `append` | the effect of an append, and when a batch counts as a repeat |
//! | `positions` | contiguous positions; a batch that does not follow the head is refused |
//! | `terms` | one leader at a time; nothing is written under a term that has passed |
//! | `tail` | reading in pages; batches read as they were written |
//! | `snapshot` | snapshots, and the pruning that they allow |
//! | `crash` | lost replies |
//! | `reopen` | the content after a restart |
//! | `journal_model` | random operations, compared with the journal in memory |
//! | `archive`, `submission_keys` | archived runs and queries; a repeated submission is one run |
//! | `logs` | bytes at offsets, once and in order |
//! | `objects`, `object_uploads`, `object_removal` | objects by their hash; those that arrive in blocks; those that nothing uses |
//! | `journal_checks`, `store_checks`, `check` | the lists of checks, and running them |
//! | `report`, `harness` | the report of failures, the access to the storage |
//! | `journal_fixtures`, `sample_events`, `sample_history` | leaders and batches, one event of each kind, and a real history |
//! | `faulty_journal`, `test_disk` | a wrapper that loses, delays and refuses calls; a disk that can be filled |

mod append;
mod archive;
mod campaign_races;
mod check;
mod condemned;
mod crash;
mod faulty_journal;
mod harness;
mod journal_checks;
mod journal_fixtures;
mod journal_model;
mod log_lists;
mod logs;
mod object_removal;
mod object_uploads;
mod objects;
mod positions;
mod reopen;
mod report;
mod sample_events;
mod sample_history;
mod sealed_run;
mod snapshot;
mod store_checks;
mod submission_keys;
mod tail;
mod terms;
mod test_disk;

pub use check::{ConformanceCheck, run_all};
pub use faulty_journal::{CallGate, FaultyJournal, JournalCall, JournalFault};
pub use harness::{FreshStorage, JournalHandle, SharedStorage, StorageHarness};
pub use journal_checks::{JOURNAL_CHECKS, check_journal, examine_journal};
pub use journal_fixtures::{JournalTestLeader, block_on, fold_events, read_all_batches};
pub use report::{
    CheckDifference, CheckFailure, CheckResult, ConformanceReport, expect_same, expect_true,
};
pub use sample_events::{EVENT_KINDS, event_kind, sample_events};
pub use sample_history::{SampleHistory, sample_history};
pub use sealed_run::sealed_run;
pub use store_checks::{
    ARCHIVE_CHECKS, LOG_CHECKS, OBJECT_CHECKS, check_archive, check_logs, check_object_store,
    examine_archive, examine_logs,
};
pub use test_disk::TestDisk;
