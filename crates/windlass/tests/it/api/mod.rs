//! The controller's API over real connections: what `docs/api.md` says, and what hostile clients try.

mod arrange;
mod foreign;
mod hostile;
mod runs;
mod slow;
