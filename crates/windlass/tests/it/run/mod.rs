//! `windlass run` and related commands: the real program and real processes, each in its own folder.

mod artifacts;
mod commands;
mod deaths;
mod disks;
mod examples;
mod exits;
mod graphs;
mod hostile;
mod idempotency;
mod lost_history;
mod reference;
mod reports;
mod resuming;
mod secrets;
mod sharing;
mod signals;
mod surprises;
mod terminal;
mod test_reports;
mod traces;
