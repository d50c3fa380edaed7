//! Logs as files: one folder for each run, one file for each hand-out of an attempt.
//!
//! ```text
//!  append       ──► desk (bounded) ──► writer thread, which has files open
//!  read, list   ──► desk (bounded) ──► reader thread
//!  runs, remove ──► desk (bounded) ──► sweeper thread: what may walk a million files delays nobody who writes or reads
//!  folder:          logs/RUN/STEP.ATTEMPT.DELIVERY.{log,notes,value}, beside the databases
//! ```
//!
//! The files are all there is: how long a log is, is what the file system says each time. So any process may read them
//! while another one writes, and there is nothing to restore after a crash.

mod file_thread;
mod log_path;
mod open_files;
mod store;
#[cfg(test)]
mod tests;
mod writer;

pub use store::FileLogs;
