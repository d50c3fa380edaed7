//! The work of a leader that keeps the journal short: it seals runs that ended, saves snapshots, and prunes.
//!
//! ```text
//!  Views ──durable events──► Histories: the events of each unsealed run
//!                        └─► core::maintenance ──effects──► journal, archive, logs, leader
//!                                          ▲──outcomes──────┘
//! ```
//!
//! [`core`](windlass_core::maintenance) decides; `driver.rs` learns events and waits, `effects.rs` carries out. Effects of
//! different kinds run beside each other, so sealing holds up neither snapshots nor pruning. None of it is urgent, all of it
//! can be repeated, and nothing is lost if it is not done: a node that starts anew reads the events of unsealed runs from
//! the journal, which keeps them until they are sealed.

mod driver;
mod effects;

pub use driver::MaintenanceDriver;
pub use windlass_core::maintenance::RetentionSettings;
