//! A run on this machine, from its submission to its summary.
//!
//! | file | contents |
//! |---|---|
//! | `options` | the options of the run |
//! | `past_durations` | how long its steps took before |
//! | `start` | opens the stores, starts the node, submits or resumes |
//! | `local_worker` | the worker of this process: its guard, its folder, its start |
//! | `gather_instances` | other instances: binds the link and waits for them |
//! | `missing_secrets` | refuses a run whose secrets are not set |
//! | `watch` | follows the run: events and output to the screen, signals to the leader |
//! | `interrupts` | Ctrl-C, SIGTERM, a closed terminal, `t` |
//! | `finish` | the final report, `JUnit`, GitHub, the exit code |

mod finish;
mod gather_instances;
mod interrupts;
mod local_worker;
mod missing_secrets;
mod options;
mod past_durations;
mod start;
mod watch;

pub(crate) use finish::FinishedRunReport;
pub(crate) use interrupts::{InterruptListener, UserRequest};
pub(crate) use options::{LocalRunKind, LocalRunOptions};
pub(crate) use start::run;
