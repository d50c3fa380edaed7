//! A run on the screen until it ends, with the same display, interrupts, report and exit code wherever it runs.
//!
//! ```text
//! RunWatch ◄── WatchedRun ──┬── LocalRun    this process leads the run (`cli/local_run`)
//!     ▲                     └── RemoteRun   another process does: events and logs come through a RunSource
//!     └── InterruptListener
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `watch_loop` | the loop: events and output to the screen, requests of the user to the run |
//! | `watched_run` | the interface between the loop and a run |
//! | `interrupts` | Ctrl-C, SIGTERM, a closed terminal, `t` |
//! | `finished_run` | the final report, `JUnit`, GitHub, the exit code |
//! | `remote_run` | a run of another process |
//! | `event_feed` | its events, across outages of its controller |
//! | `log_followers` | the output of its steps |

mod event_feed;
mod finished_run;
mod interrupts;
mod log_followers;
mod remote_run;
mod watch_loop;
mod watched_run;

pub(crate) use finished_run::exit_code;
pub(crate) use interrupts::InterruptListener;
pub(crate) use remote_run::RemoteWatch;
pub(crate) use watch_loop::{RunReportOptions, RunWatch, WatchOutcome, WatchOutput};
pub(crate) use watched_run::{EndRequestReaction, EndedAttempt, OutputSink, RunUpdate, WatchedRun};
