//! The journal in PostgreSQL: for several controllers, of which one leads.
//!
//! ```text
//!  campaign, renew, resign ──► line ──┐
//!  append ───────────────────► line ──┼──► windlass_leader, windlass_journal (partitions by position)
//!  tail, head ───────────────► line ──┤
//!  save, snapshot, prune ────► line ──┘    windlass_snapshots, windlass_journal_state
//! ```
//!
//! **Leadership.** The row of the leader decides. A leader renews its term; a candidate takes the next term after it has
//! observed an unchanged row for a whole term. Nothing is written under an expired term.
//!
//! **Late writes.** An append locks the row `FOR SHARE` under its term, in the statement that writes. So a campaign waits
//! for appends in progress, sees their batches, and refuses later ones. A plain comparison would not be enough: under READ
//! COMMITTED the row may change between the comparison and the commit.
//!
//! An append is one statement and one round trip. If its answer is lost, a repetition finds the batch by its name.

mod condemned;
mod election;
mod import;
mod leader_row;
mod reader;
mod snapshots;
mod statement;
mod store;
mod writer;

pub(crate) use store::TABLES as JOURNAL_TABLES;
pub use store::{PostgresJournal, PostgresJournalOptions};
