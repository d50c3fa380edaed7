//! A run on this machine, from its submission to its summary.
//!
//! | file | what it does |
//! |---|---|
//! | `order` | what was asked for |
//! | `earlier` | how long its steps took before |
//! | `begin` | opens the stores, starts the station, submits or resumes |
//! | `company` | other instances, before it begins: bound, and waited for |
//! | `missing` | refuses a run whose secrets are not set |
//! | `watch` | follows the run: events and output to the screen, signals to the leader |
//! | `interrupts` | Ctrl-C, SIGTERM, a closed terminal, `t` |
//! | `finish` | the ending, JUnit, GitHub, the exit code |

mod begin;
mod company;
mod earlier;
mod finish;
mod interrupts;
mod missing;
mod order;
mod watch;

pub(crate) use begin::run;
pub(crate) use finish::Finish;
pub(crate) use interrupts::{Interrupts, Wish};
pub(crate) use order::{Order, What};
