//! A run on this machine, from its submission to its summary.
//!
//! | file | contents |
//! |---|---|
//! | `options` | the options of the run |
//! | `past_durations` | how long its steps took before |
//! | `start` | opens the stores, starts the node and the worker |
//! | `node_tasks` | the sockets of the leader, the watch over other processes |
//! | `local_worker` | the worker of this process: its slot, its guard, its folder, its start |
//! | `begin_run` | submits a new run |
//! | `resume` | finds an interrupted run and resumes it |
//! | `gather_instances` | other instances: binds the link and waits for them |
//! | `missing_secrets` | refuses a run whose secrets are not set |
//! | `watched_local_run` | the run as the watch loop sees it: events, output, requests to the leader |
//! | `watch` | watches the run to its end, and ends the node |

mod begin_run;
mod gather_instances;
mod local_worker;
mod missing_secrets;
mod node_tasks;
mod options;
mod past_durations;
mod resume;
mod start;
mod watch;
mod watched_local_run;

pub(crate) use options::{LocalRunKind, LocalRunOptions};
pub(crate) use start::run;
