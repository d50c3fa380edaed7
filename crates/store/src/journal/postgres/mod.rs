//! The journal in PostgreSQL: for several controllers, of which one leads.
//!
//! ```text
//!  campaign, renew, resign ──► line ──┐
//!  append ───────────────────► line ──┼──► windlass_leader, windlass_journal (partitions by position)
//!  tail, head ───────────────► line ──┤
//!  save, snapshot, prune ────► line ──┘    windlass_snapshots, windlass_journal_state
//! ```
//!
//! *Who leads* is decided by the row of the leader and the clock of the database: a term lasts as long as it is renewed,
//! and whoever finds it over takes the next. Nothing is written under one that is over, taken or not. *What a late write can do* is decided by the same row: an append locks it
//! `FOR SHARE` under its term in the statement that writes, so a campaign waits for appends that are under way, sees what
//! they wrote, and refuses those that come later. A plain comparison would not: under READ COMMITTED the row may change
//! between the comparison and the commit.
//!
//! An append is one statement and one round trip. If its answer is lost, repeating it finds the batch by its name.

mod condemned;
mod election;
mod import;
mod reader;
mod snapshots;
mod statement;
mod store;
mod writer;

pub(crate) use store::TABLES as JOURNAL_TABLES;
pub use store::{PostgresJournal, PostgresJournalOptions};
