//! The session: how one worker and the leader keep a shared view of leases over a link that may lose, duplicate, delay
//! and reorder every message.
//!
//! ```text
//!  worker                                              leader
//!    │ exchange(seq 7, seen 6, finished, in flight) ──►  │ renews, judges, grants; parks it if there is nothing to say
//!    │ ◄── reply(seq 7: verdicts, grants, stops)         │ `granted` events carry seq 7
//!    │ exchange(seq 8, seen 7, …) ──►                    │
//! ```
//!
//! - `seq` numbers exchanges, `seen` is the newest reply that the worker processed. The worker drops replies that are
//!   not newer than `seen`.
//! - A lease granted in answer to a `seq` beyond `seen` is *undelivered*: it is sent again under the same fence. One at
//!   or below `seen` that the worker does not list is *forgotten*: it ends as lost at once.
//! - A grant whose fence is not above the highest that this incarnation accepted is a repeat and ignored.
//! - An exchange names the leader that it is meant for (`term`). Another leader judges and renews, and answers at once,
//!   but grants nothing: the first one may have answered it already, and the worker would drop a second answer.
//! - An outcome is listed until its verdict was processed, so every lease is always in one of the two lists.
//! - The worker counts a lease's deadline from *before* it sent the exchange that renewed it, the leader from when it
//!   received it: the worker's deadline always comes first.
//! - Leases beyond the worker's slots wait with it. Where leases do not expire, the worker has its executor enqueue those that
//!   the executor can start by itself: what the session knows of them is always late. A queued lease is listed as queued, and
//!   given back only when the executor has said that it will not start ([`start_queue`](crate::start_queue)).
//!
//! [`WorkerSession`] is the worker's end, [`PlainWorkerSession`] that of a worker that sends plain requests instead, [`LeaderSession`] the
//! leader's; the engine does what follows from the exchange.

mod contact_deadline;
mod exchange_pace;
mod executor_queue;
mod held_lease;
mod leader_session;
mod message;
mod plain_lease;
mod plain_worker_session;
mod registration;
mod stop_order;
mod worker_session;

pub use contact_deadline::{ContactDeadline, safety_margin};
pub use exchange_pace::{ExchangePace, PaceSettings, PeerWorkers};
pub use leader_session::{ExchangeArrival, LeaderSession};
pub use message::{
    Exchange, ExchangeReply, ExchangeReplyBody, FinishedAttempt, InFlightLease, LeaseGrant,
    LeasePhase, LeaseRef, OutcomeVerdict, WorkerRefusal,
};
pub use plain_lease::PlainLease;
pub use plain_worker_session::{PlainSessionConfig, PlainWorkerSession};
pub use registration::{
    FormerIncarnationProof, PROVEN_INCARNATIONS_MAX, RegisterReply, RegisterRequest, WorkerLocality,
};
pub use stop_order::{StopMode, StopOrder, StopReason};
pub use worker_session::{SessionAction, SessionConfig, WorkerSession};
