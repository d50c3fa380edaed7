//! Logs as files: one folder per run, one file per stream of a delivery.
//!
//! ```text
//!  append       ──► bounded queue ──► writer thread, which keeps files open
//!  read, list   ──► bounded queue ──► reader thread
//!  runs, remove ──► bounded queue ──► sweeper thread: a walk over a million files delays no writer and no reader
//!  folder:          logs/RUN/STEP.ATTEMPT.DELIVERY.{log,notes,value}, beside the databases
//! ```
//!
//! The files are the only state: the size of a log is the size of its file. So any process can read them while another one
//! writes, and nothing has to be restored after a crash.

mod file_thread;
mod log_path;
mod open_files;
mod store;
#[cfg(test)]
mod tests;
mod writer;

pub use store::FileLogs;
