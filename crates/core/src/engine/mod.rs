//! The engine: the pure state machine that makes every scheduling decision.
//!
//! [`Engine::decide`] takes a request and the time, and returns events and replies. The events have already been applied
//! to this engine; a leader makes them durable before it releases the replies. [`Engine::apply`] folds events read from
//! a journal into the same state. State that is *not* in the journal (renewals, parked exchanges, learned durations) is
//! called volatile: a new leader starts without it, and the rules on leases make up for that.
//!
//! | folder | content |
//! |---|---|
//! | `request` | the requests, their answers and denials; calls, which are requests with the type of their answer |
//! | `event` | the events, and their size in the journal; how far an interrupted run has come (`run_progress`) |
//! | `rules` | the decisions; see the next table |
//! | `apply` | what each event does to the state (`fold` has one arm per event); how a run leaves the queues (`interruption`); which steps become ready by it (`need_propagation`) |
//! | `state` | runs, workers, leases and timers; the transition table of a step (`transition`); `invariants` |
//! | `queue` | lanes of ready steps, requirement classes, locks; the claims that keep a lock for a waiting step |
//! | `takeover` | what a new leader has to assume: missing history, time without a leader, unproven time, clock jumps |
//!
//! | file in `rules` | what it decides |
//! |---|---|
//! | `decide` | which rule answers a request; what follows every request |
//! | `submit`, `cancel`, `register`, `exchange`, `tick` | one request each |
//! | `grant`, `preferences`, `take_back` | which step goes to which worker; which lease is asked back |
//! | `outcome_verdict` | which reported outcome counts |
//! | `lease_end` | what follows when a lease ends: done, retry or another delivery |
//! | `settlement`, `unplaceable` | ends without a lease: skipped, blocked, cancelled, no matching worker |
//! | `ancestors` | which steps wait for a lock or key of a step that waits for them |
//! | `value_condition`, `idempotency` | whether a step's condition on values holds; which step runs under an idempotency key |
//! | `credentials`, `audit` | tokens and worker credentials; the author of a change |
//! | `value_access` | which large results a worker may fetch |
//! | `interruption`, `resume` | when a run is interrupted, because the process that it belongs to has ended; how it continues |
//! | `condemned_runs` | runs that an operator condemned because the store cannot be folded with them |
//! | `contacts`, `plain_session` | when each worker was last in contact; the session of a plain worker, restored from the state |
//!
//! The read side (reports, `why`, event JSON) is [`crate::report`]; the engine does not use it.

mod apply;
mod config;
pub mod event;
pub(crate) mod queue;
mod request;
mod rules;
pub(crate) mod state;
mod takeover;

pub use apply::ApplyError;
pub use config::{
    BATCH_BYTES_MAX, EngineConfig, INTERRUPTED_DELIVERIES_MAX, PREFERENCE_WAIT, REUSED_BYTES_MAX,
    SINGLE_GRANT_BYTES_MAX, SLOTS_MAX, UNCONFIRMED_DELIVERIES_MAX,
};
pub use event::{
    AncestorStep, CancelLevel, CancelReason, Event, LeaseEndKind, ParentStep, ReusedOutcome,
    RunOptions, RunOwner, RunProgress, StepBlocker, StepFollowUp, StepProgress, StepSettlement,
    UnplaceablePolicy,
};
pub use queue::lane::AGING;
pub use request::{
    AnswerReader, EngineAnswer, EngineCall, EngineDecision, EngineRequest, RequestDenial,
    ResumeRun, SubmitRun, SubmitWarning,
};
pub use rules::WorkerContacts;
pub use state::engine::{Engine, EngineCounts};
pub use state::invariants::InvariantViolation;
pub use state::transition::{IllegalStepChange, StepChange, next_status};
pub use state::worker::WorkerStatus;
pub use takeover::store_history::{LEASE_TTL_MAX, StoreHistory};
pub use takeover::takeover_gap::ProvenTime;
