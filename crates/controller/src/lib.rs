//! The controller: a node that leads, or stands by to take over.
//!
//! ```text
//!  NodeHandle ──► inbox (bounded) ──► LeaderLoop ──► core::leader::Leader ──► append in flight ──► journal
//!       ▲                                 ▲                                       │ durable
//!       └────── answers and replies ──────┴───────────────────────────────────────┤
//!  EventFollower ◄── SharedView: the durable state, and the newest events ◄───────┘
//! ```
//!
//! [`ControllerNode::run`] stands by until it wins a term, leads until it loses it, and starts again. A standby applies
//! the leader's events, so that it can take over at once. The decisions are pure and in
//! [`core`](windlass_core::leader); this crate is the part that waits for requests, for the disk and for time.
//!
//! Nothing is shown before it is durable. Answers wait in the leader's machine, and [`SharedView`] applies durable
//! events only, so clients never see a state that a crash can undo. [`api`] serves clients over HTTP.

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
mod peers;
mod published_events;
#[cfg(feature = "http")]
pub mod replica;
mod run_histories;
mod self_reports;
mod sql_views;
mod sse;
mod standby;
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
#[cfg(unix)]
pub use peers::PeerServer;
pub use published_events::PublishedEvents;
pub use run_histories::RunHistories;
pub use self_reports::{SelfReport, SelfReports};
pub use sql_views::SqlViewUpdater;
pub use sse::{SseFrame, SseFrames};
