//! The controller: a node that leads, or stands by to.
//!
//! ```text
//!  Handle ──asks──► inbox (bounded) ──► Lead ──► core::leader::Leader ──► append in flight ──► Journal
//!    ▲                                    ▲                                     │ durable
//!    └────────── answers and replies ─────┴─────────────────────────────────────┤
//!  Follower ◄── Views: an engine that folds what is durable, and the newest events ◄┘
//! ```
//!
//! [`Node::run`] stands by until it wins a term, leads until it loses it, and begins again. While it stands by it folds
//! what the leader writes, so that it can take over at once. What the engine decides is pure and in
//! [`core`](windlass_core::leader); this is the part that waits: for requests, for the disk, for time.
//!
//! Nothing is shown before it is durable. Answers wait in the leader's machine, and [`SharedView`] folds durable events only,
//! so whoever asks sees a state that a crash cannot take back. [`api`] is how others ask over HTTP.

#[cfg(feature = "http")]
pub mod api;
mod append_in_flight;
mod engine_view;
mod event_follower;
mod handle;
mod in_process_link;
mod journal_clock;
mod leader_lease;
mod leader_loop;
mod log_ingest;
pub mod mailbox_server;
mod maintenance;
pub mod metrics;
mod node;
mod published_events;
#[cfg(feature = "http")]
pub mod replica;
mod run_histories;
mod self_reports;
mod sql_views;
mod sse;
mod startup_mark;
mod step_cancel;
#[cfg(feature = "http")]
pub mod traces;

pub use engine_view::{EngineView, SharedView};
pub use event_follower::{EventFollower, FollowLimits, FollowedEvents};
pub use handle::{NodeHandle, NotLeader};
pub use log_ingest::{LogIngest, LogIngestError, ResultPartRequest};
pub use maintenance::{MaintenanceDriver, RetentionSettings};
pub use node::{ControllerNode, NodeConfig, NodeError, StandbyPolicy};
pub use published_events::PublishedEvents;
pub use run_histories::RunHistories;
pub use self_reports::{SelfReport, SelfReports};
pub use sql_views::SqlViewUpdater;
pub use sse::{SseFrame, SseFrames};
