//! The rules: each one decides one subject and emits events.

mod ancestors;
mod audit;
mod cancel;
mod condemned_runs;
mod contacts;
mod credentials;
pub(in crate::engine) mod decide;
mod exchange;
mod grant;
mod idempotency;
mod interruption;
mod lease_end;
mod outcome_verdict;
mod plain_session;
mod preferences;
mod register;
mod resume;
mod settlement;
pub(in crate::engine) mod submit;
mod take_back;
mod tick;
mod unplaceable;
mod value_access;
mod value_condition;

pub use contacts::WorkerContacts;
