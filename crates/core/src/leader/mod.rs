//! The leader: when an answer may leave.
//!
//! ```text
//!  request ──► Engine::decide ──► events ──► gathering batch ──► append ──► durable ──► replies leave
//!                             └─► replies ────────────────────────────────────────────────▲
//! ```
//!
//! The live engine is ahead of the journal. Every answer waits for the batch that was gathering when it was made, also the
//! answer of a request that decided nothing. Answers leave in order when that batch is durable. One append is in flight;
//! the next batch gathers meanwhile, so batches grow with the load and no timer is needed. An append succeeds or is
//! repeated unchanged. If neither is possible, the leader is dropped together with its engine, and the next leader starts
//! from the journal: there is no partial roll-back.
//!
//! An event is allocated once, as a [`RecordedEvent`](crate::recorded_event::RecordedEvent), and shared by reference from
//! here to every reader.
//!
//! The leader is pure, like the engine: the loop around it carries out its [`LeaderEffect`]s and reports their outcomes.

mod leader_lease;
mod machine;
mod reading_order;
mod term_observer;
mod won_term;

pub use leader_lease::LeaderLease;
pub use machine::{Leader, LeaderEffect};
pub use reading_order::{DueTick, LeaderInput, LeaderLoad, LeaderTurn, ReadingOrder};
pub use term_observer::{TermObserver, TermRecord};
pub use won_term::WonTerm;
