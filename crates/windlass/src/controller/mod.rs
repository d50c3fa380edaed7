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
//! Nothing is shown before it is durable. Answers wait in the leader's machine, and [`Views`] folds durable events only,
//! so whoever asks sees a state that a crash cannot take back. [`api`] is how others ask over HTTP.

#[cfg(feature = "http")]
pub mod api;
mod clock;
mod flight;
mod frames;
mod handle;
mod histories;
mod intake;
mod lead;
mod local_link;
mod maintenance;
pub mod metrics;
mod node;
#[cfg(feature = "http")]
pub mod observing;
pub mod post;
mod reader;
mod self_reports;
mod start_watch;
mod tables;
#[cfg(feature = "http")]
pub mod traces;
mod trust;
mod view;
mod wishes;

pub use frames::{Frame, Frames};
pub use handle::{Handle, NotLeader};
pub use histories::Histories;
pub use intake::{Intake, IntakeError, ResultPart};
pub use maintenance::{Keeping, MaintenanceDriver};
pub use node::{Node, NodeConfig, NodeError, StandBy};
pub use self_reports::{SelfReport, SelfReports};
pub use tables::TableKeeper;
pub use view::{Ahead, Followed, Follower, Published, View, Views};
