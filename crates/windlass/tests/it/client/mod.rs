//! The command line against a controller as it is used: real processes on free ports, a folder of their own each.

mod addresses;
mod idempotency;
mod queries;
mod submitting;
mod watching;
