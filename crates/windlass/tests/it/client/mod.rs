//! The command line with a controller: real processes on free ports, each in its own folder.

mod addresses;
mod idempotency;
mod queries;
mod submitting;
mod test_reports;
mod watching;
