//! `windlass run` and its company as they are used: the real program, real processes, a folder of their own each.

pub(crate) mod arrange;
mod commands;
mod deaths;
mod disks;
mod examples;
mod exits;
mod graphs;
mod hostile;
mod lost_history;
mod once;
mod reports;
mod resuming;
mod secrets;
mod signals;
mod terminal;
mod traces;
mod traps;
