//! The controller's API over real connections: what `docs/reference/api.md` says, and what hostile clients try.

mod access;
mod clocks;
mod endless;
mod etags_and_gzip;
pub(crate) mod event_client;
mod hostile;
mod hosts;
mod limits;
mod metrics;
pub(crate) mod object_clients;
mod objects;
mod openapi;
mod plain_workers;
mod read_only_replica;
mod reading;
mod request_smuggling;
mod route_access;
mod runs;
mod slow_clients;
mod step_budget;
mod streams;
