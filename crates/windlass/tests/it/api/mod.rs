//! The controller's API over real connections: what `docs/api.md` says, and what hostile clients try.

mod access;
pub(crate) mod arrange;
mod clocks;
mod crew;
mod documents;
pub(crate) mod ears;
mod endless;
mod foreign;
mod hostile;
mod hosts;
mod limits;
mod matrix;
mod metrics;
mod observed;
mod openapi;
mod reading;
mod runs;
mod slow;
mod streams;
mod tricks;
