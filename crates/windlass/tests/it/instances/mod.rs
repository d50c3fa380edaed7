//! One run by several processes that only a link connects.

mod binding_expiry;
mod cancellation;
mod deaths;
mod each_link;
mod faults;
mod lease_duration;
mod many_runs;
mod messages;
mod parity;
mod repeated_instances;
mod roles;
mod unplaceable;
