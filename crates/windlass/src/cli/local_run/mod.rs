//! A run on this machine, from its submission to its summary.
//!
//! | file | contents |
//! |---|---|
//! | `options` | the options of the run |
//! | `past_durations` | how long its steps took before |
//! | `start` | opens the stores, starts the node, submits or resumes |
//! | `resume` | finds and loads an interrupted run |
//! | `local_worker` | the worker of this process: its guard, its folder, its start |
//! | `gather_instances` | other instances: binds the link and waits for them |
//! | `missing_secrets` | refuses a run whose secrets are not set |
//! | `watched_local_run` | the run as the watch loop sees it: events, output, requests to the leader |
//! | `watch` | watches the run to its end, and ends the node |

mod gather_instances;
mod local_worker;
mod missing_secrets;
mod options;
mod past_durations;
mod resume;
mod start;
mod watch;
mod watched_local_run;

pub(crate) use options::{LocalRunKind, LocalRunOptions};
pub(crate) use start::run;
