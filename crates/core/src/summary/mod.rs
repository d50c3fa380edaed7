//! What became of one run, folded from its events.
//!
//! [`Summary`] is the one answer to "how did it go": screens, tables, reports and JSON are all made from it, during the
//! run and long after it. It costs a step that never ran two dozen bytes and each hand-out about 60 more.
//!
//! | file | what it tells |
//! |---|---|
//! | `summary_type`, `learn` | the run; what each event changes |
//! | `step`, `reason` | one step and its tries; why it ended without one |
//! | `cause` | which steps failed by themselves, and what hangs on them |
//! | `path` | which steps the run's wall time is made of |
//! | `again` | what a rerun does again, and what it takes over |
//! | `share` | what each worker did, and how much of its time that took |
//! | `verdict` | what the run means for an exit code |
//! | `forecast` | how long the rest will take |
//! | `json` | the same for machines |

mod again;
mod cause;
mod forecast;
mod json;
mod learn;
mod path;
mod reason;
mod share;
mod step;
mod summary_type;
mod tally;
mod verdict;

pub use again::{Again, Part};
pub use cause::RootCause;
pub use forecast::{Durations, Forecast};
pub use path::{CriticalPath, Link};
pub use share::Share;
pub use step::{Step, Try};
pub use summary_type::Summary;
pub use tally::Tally;
pub use verdict::{Asked, Verdict};
