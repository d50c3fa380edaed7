//! The engine: the pure state machine that makes every scheduling decision.
//!
//! [`Engine::decide`] takes a request and the time, and returns events and replies. The events have been applied to
//! this engine already; a leader makes them durable before it lets the replies go. [`Engine::apply`] folds events read
//! from a journal into the same state. What is *not* in the journal (renewals, parked exchanges, what was learned about
//! durations) is called volatile: a new leader starts without it and the rules of leases make up for that.
//!
//! | file | what it decides |
//! |---|---|
//! | `decide` | which rule answers a request; what is done after every request |
//! | `submit`, `cancel`, `register`, `exchange`, `sweep` | one request each |
//! | `grant`, `prefer`, `give_back` | which step goes to which worker; which lease is asked back |
//! | `judge`, `sealed` | which reported outcome counts; leases of sealed runs that a report may still come of |
//! | `ending` | what follows when a lease ends: done, retry or another hand-out |
//! | `settle`, `crewed` | ends without a lease: skipped, blocked, cancelled, nobody to run it |
//! | `absence`, `leap`, `clock_doubt` | time in which no leader led; time at a takeover that nothing proves; time that nothing may be deleted by |
//! | `once` | what is done once under a key: whose it is, who waits, who takes over what is on record |
//! | `condemned` | runs that an operator condemned because the store cannot be folded with them |
//! | `apply`, `flow` | what each event does to the state; what becomes ready by it |
//! | `transition` | the one table of a step's life |
//! | `board`, `lane`, `class`, `lock` | who waits for what |
//! | `claims` | for which waiting step a lock is kept |
//! | `keys`, `audit` | who may ask: tokens and workers' credentials; on whose word something was done |
//! | `value_access` | which large results a worker may fetch |
//! | `why`, `snapshot`, `invariants` | explaining, printing and checking the state |
//! | `plain_session` | the session of a plain worker, made again from the state |
//! | `report`, `queue`, `standing`, `event_json`, `utc` | showing it to others: plain values, JSON, times |

mod absence;
mod apply;
mod audit;
mod board;
mod cancel;
mod claims;
mod class;
mod clock_doubt;
mod condemned;
mod condition;
mod config;
mod crewed;
mod decide;
mod ending;
mod event;
mod event_json;
mod event_size;
mod exchange;
mod flow;
mod give_back;
mod grant;
mod history;
mod invariants;
mod judge;
mod keys;
mod lane;
mod leap;
mod lease;
mod lock;
mod once;
mod plain_session;
mod prefer;
mod queue;
mod register;
mod report;
mod request;
mod run;
mod sealed;
mod settle;
mod snapshot;
mod standing;
mod state;
mod submit;
mod sweep;
mod timer;
mod transition;
mod utc;
mod value_access;
mod why;
mod worker;

pub use apply::ApplyError;
pub use config::{
    ALONE_MAX, BATCH_BYTES_MAX, Config, INTERRUPTED_MAX, PREFERS_PATIENCE, REUSED_BYTES_MAX,
    SLOTS_MAX, UNHEARD_MAX,
};
pub use event::{
    CancelLevel, CancelReason, EndedAs, Event, Next, Reused, RunOptions, Settled, Unplaceable,
};
pub use event_json::json_list;
pub use history::{StoreHistory, TTL_MAX};
pub use invariants::Violation;
pub use lane::AGING;
pub use leap::ProvenTime;
pub use once::KeyReport;
pub use queue::ClassReport;
pub use report::{
    LeaderReport, LeaseReport, LockHolder, LockReport, RunReport, StatusCounts, StepReport,
    StopReport, WorkerReport,
};
pub use request::{Answer, Decision, Denial, Request, Submit, Warning};
pub use standing::{Contacts, Standing};
pub use state::{Counts, Engine};
pub use transition::{Change, IllegalChange, next_status};
pub use utc::Utc;
pub use why::{Elimination, LockWait, Why};
pub use worker::WorkerStatus;
