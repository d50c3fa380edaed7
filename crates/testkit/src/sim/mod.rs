//! A whole cluster in virtual time: real engines and sessions, a modelled journal, link, clocks and processes, and
//! faults from a seed.
//!
//! ```text
//!  Schedule (from a seed: plans, workers, network, faults)
//!      │
//!      ▼
//!  World ── nodes ──► leaders: real Engine + leader loop      workers: real WorkerSession + guard + processes
//!      │                 │ append, renew, campaign                │ start and end of every process
//!      │                 ▼                                        ▼
//!      │              Journal (model) ── committed records ──► Witness: believes nothing but what it saw
//! ```
//!
//! The witness keeps its own books from committed records and from what processes really did; it shares no code with
//! the engine. A schedule is plain data: a failing one is printed, replays byte for byte, and shrinks. Shrinking leaves
//! faults and runs out one by one while it still fails. A panic is a failure like any other.

mod batch;
mod campaign;
mod client;
mod clock;
mod coverage_marks;
mod fault_series;
mod faults;
mod folder_schedule;
mod folder_watch;
mod guard;
mod host_copies;
mod journal;
mod leader;
mod leader_turns;
mod link;
mod local_guard;
mod local_schedule;
mod maintenance;
mod panics;
mod plain_proxy;
mod plain_worker;
mod plans;
mod process;
mod resumption;
mod rng;
mod schedule;
mod shrink;
mod step_specs;
mod story;
mod witness;
mod worker;
mod world;

pub use campaign::{BugHuntResult, HAS_PLANTED, SimCampaign, hunt, planted, play};
pub use coverage_marks::CoverageMarks;
pub use schedule::Schedule;
pub use shrink::shrink;
pub use story::StoryLines;
pub use world::{SimReport, SimViolation};
