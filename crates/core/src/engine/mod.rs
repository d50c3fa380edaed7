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
//! | `submit`, `cancel`, `register`, `exchange`, `tick` | one request each |
//! | `grant`, `preferences`, `take_back` | which step goes to which worker; which lease is asked back |
//! | `outcome_verdict`, `sealed_leases` | which reported outcome counts; leases of sealed runs that a report may still come of |
//! | `lease_end` | what follows when a lease ends: done, retry or another hand-out |
//! | `settlement`, `unplaceable` | ends without a lease: skipped, blocked, cancelled, nobody to run it |
//! | `leader_absence`, `takeover_gap`, `clock_jump` | time in which no leader led; time at a takeover that nothing proves; time that nothing may be deleted by |
//! | `idempotency` | what is done once under a key: whose it is, who waits, who takes over what is on record |
//! | `condemned_runs` | runs that an operator condemned because the store cannot be folded with them |
//! | `apply`, `need_propagation` | what each event does to the state; what becomes ready by it |
//! | `transition` | the one table of a step's life |
//! | `ready_queues`, `lane`, `requirement_class`, `lock` | who waits for what |
//! | `lock_claims` | for which waiting step a lock is kept |
//! | `credentials`, `audit` | who may ask: tokens and workers' credentials; on whose word something was done |
//! | `value_access` | which large results a worker may fetch |
//! | `why`, `state_dump`, `invariants` | explaining, printing and checking the state |
//! | `plain_session` | the session of a plain worker, made again from the state |
//! | `state_report`, `queue_report`, `contact`, `event_json`, `utc_time` | showing it to others: plain values, JSON, times |

mod apply;
mod audit;
mod cancel;
mod clock_jump;
mod condemned_runs;
mod config;
mod contact;
mod credentials;
mod decide;
mod event;
mod event_json;
mod event_size;
mod exchange;
mod grant;
mod idempotency;
mod invariants;
mod lane;
mod leader_absence;
mod lease;
mod lease_end;
mod lock;
mod lock_claims;
mod need_propagation;
mod outcome_verdict;
mod plain_session;
mod preferences;
mod queue_report;
mod ready_queues;
mod register;
mod request;
mod requirement_class;
mod run;
mod sealed_leases;
mod settlement;
mod state;
mod state_dump;
mod state_report;
mod store_history;
mod submit;
mod take_back;
mod takeover_gap;
mod tick;
mod timer;
mod transition;
mod unplaceable;
mod utc_time;
mod value_access;
mod value_condition;
mod why;
mod worker;

pub use apply::ApplyError;
pub use config::{
    BATCH_BYTES_MAX, EngineConfig, INTERRUPTED_DELIVERIES_MAX, PREFERENCE_WAIT, REUSED_BYTES_MAX,
    SINGLE_GRANT_BYTES_MAX, SLOTS_MAX, UNCONFIRMED_DELIVERIES_MAX,
};
pub use contact::{WorkerContactStatus, WorkerContacts};
pub use event::{
    CancelLevel, CancelReason, Event, LeaseEndKind, ReusedOutcome, RunOptions, StepFollowUp,
    StepSettlement, UnplaceablePolicy,
};
pub use event_json::json_list;
pub use idempotency::IdempotencyKeyReport;
pub use invariants::InvariantViolation;
pub use lane::AGING;
pub use queue_report::ClassReport;
pub use request::{
    EngineAnswer, EngineDecision, EngineRequest, RequestDenial, SubmitRun, SubmitWarning,
};
pub use state::{Engine, EngineCounts};
pub use state_report::{
    LeaderReport, LeaseReport, LockHolder, LockReport, RunReport, StatusCounts, StepReport,
    StopReport, WorkerReport,
};
pub use store_history::{LEASE_TTL_MAX, StoreHistory};
pub use takeover_gap::ProvenTime;
pub use transition::{IllegalStepChange, StepChange, next_status};
pub use utc_time::UtcTime;
pub use why::{LockWait, WhyReport, WorkerElimination};
pub use worker::WorkerStatus;
