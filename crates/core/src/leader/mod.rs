//! The leader: what may be said when.
//!
//! ```text
//!  request ──► Engine::decide ──► events ──► the batch that gathers ──► append ──► durable ──► replies leave
//!                             └─► replies ─────────────────────────────────────────────────────────▲
//! ```
//!
//! The live engine is ahead of the journal. Every answer, also one that decided nothing, waits for the batch that was
//! gathering when it was made, and leaves when that batch is durable, in order. One append is in flight; meanwhile the
//! next batch gathers, so the batches grow with the load and there is no timer. An append succeeds or is repeated
//! unchanged. If neither is possible the leader is dropped, engine and all, and whoever leads next starts from the
//! journal: there is no partial roll-back.
//!
//! Like the engine it is pure: the loop around it carries out its [`LeaderEffect`]s and tells it what came of them.

mod leader_lease;
mod machine;
mod reading_order;
mod term_observer;

pub use leader_lease::LeaderLease;
pub use machine::{Leader, LeaderBatch, LeaderEffect, WonTerm};
pub use reading_order::{DueTick, LeaderInput, LeaderLoad, LeaderTurn, ReadingOrder};
pub use term_observer::{TermObserver, TermRecord};
