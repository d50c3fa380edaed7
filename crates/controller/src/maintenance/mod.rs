//! The work of a leader that keeps the journal short: it seals ended runs, saves snapshots, and prunes.
//!
//! ```text
//!  view ──durable events──► RunHistories: the events of each unsealed run
//!                        └─► core::maintenance ──effects──► journal, archive, logs, leader
//!                                          ▲──outcomes──────┘
//! ```
//!
//! [`core`](windlass_core::maintenance) decides; `driver.rs` learns events and waits, `effects.rs` carries out effects.
//! Effects of different kinds run in parallel, so sealing holds up neither snapshots nor pruning. None of it is urgent,
//! every effect can be repeated, and nothing is lost without it: after a restart the node reads the events of unsealed
//! runs from the journal, which keeps them until they are sealed.

mod driver;
mod effects;

pub use driver::MaintenanceDriver;
pub use windlass_core::maintenance::RetentionSettings;
