//! Maintenance: the work of a leader that keeps the journal short.
//!
//! ```text
//!  durable events ──► Sealer ──────► WriteArchive(run) ──► Seal(run) ──► the run leaves the engine
//!  view, time ──────► Snapshotter ─► SaveSnapshot
//!                     Pruner ──────► PruneBefore(position)
//! ```
//!
//! Like the [leader](crate::leader) it is pure: [`Maintenance`] takes durable events, observations and the outcomes of its
//! effects, and returns the next [effects](MaintenanceEffect). At most one effect of each kind is in flight, so that no kind
//! holds up another. Every effect can be repeated without harm, so an outcome that is unknown is a failure: the effect
//! is requested again at the next tick.
//!
//! A crash between any two effects must lose nothing: *archive and journal together have every durable event*. Four rules
//! follow from it:
//!
//! - A run is sealed only after every event of it that is known was written to the archive (`sealer.rs`). If another event of the
//!   run comes before its sealing, the write is requested again, and the run counts as unsealed until then.
//! - An interrupted run is sealed like an ended one. When it is resumed, it is unsealed again, and the archive has its events
//!   before the resumption.
//! - A batch is pruned only if a snapshot contains it, its events have been learnt, and no unsealed run began before.
//! - A snapshot is made from durable events only, and the store compares its batch with the journal (`snapshotter.rs`).

mod effect;
mod machine;
mod pruner;
mod resumable_runs;
mod retention_settings;
mod sealer;
mod snapshotter;
mod unsealed_run;

pub use effect::{MaintenanceEffect, MaintenanceObservation, MaintenanceOutcome};
pub use machine::Maintenance;
pub use resumable_runs::{RESUMABLE_AGE, RESUMABLE_RUNS_MAX, resumable_runs};
pub use retention_settings::RetentionSettings;
