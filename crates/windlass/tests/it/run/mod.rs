//! `windlass run` and its company as they are used: the real program, real processes, a folder of their own each.

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
mod traces;
