//! The configuration of an engine, and its limits. Nothing here changes the meaning of an old journal.

use crate::planted_bugs::PlantedBugs;
use crate::time::Span;

/// Limits and intervals.
#[derive(Clone, Copy, Debug)]
pub struct EngineConfig {
    /// Runs that are not sealed.
    pub runs_max: usize,
    /// Steps of all runs that are not sealed.
    pub steps_max: usize,
    /// Bytes of the plans of all active runs: a quarter of the memory that a controller may use.
    pub plan_bytes_max: usize,
    /// Uses of locks by steps of active runs. The limit bounds the cost of one change of a lock.
    pub lock_uses_max: usize,
    /// Labels and worker names that steps of active runs require; equal requirements count once. The limit bounds the
    /// cost of a new run or worker, and the memory per worker.
    pub demands_max: usize,
    /// Workers that are live or were lost recently.
    pub workers_max: usize,
    /// Events in one decision. A large ending continues in the next decision, so that exchanges are served in between.
    pub batch_max: usize,
    /// New leases in one reply.
    pub grants_max: usize,
    /// Leases ahead per slot of a worker, however short its steps are.
    pub ahead_max: u32,
    /// The amount of work that a worker may hold ahead for each slot.
    pub ahead_work: Span,
    /// How often a worker exchanges at least; `None`: a third of the lease's TTL.
    pub interval: Option<Span>,
    /// How long the engine keeps a lost worker.
    pub forget_after: Span,
    /// Whether workers in other processes of this host may keep their leases without contact
    /// ([`WorkerLocality::SameHost`](crate::session::WorkerLocality::SameHost)). Only for a store that no process of
    /// another host can lead.
    pub same_host_workers: bool,
    /// Planted bugs; none outside the simulator.
    pub bugs: PlantedBugs,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            runs_max: 10_000,
            steps_max: 4_000_000,
            plan_bytes_max: 256 << 20,
            lock_uses_max: 100_000,
            demands_max: 20_000,
            workers_max: 20_000,
            batch_max: 4096,
            grants_max: 512,
            ahead_max: 512,
            ahead_work: Span::millis(50),
            interval: None,
            forget_after: Span::hours(1),
            same_host_workers: false,
            bugs: PlantedBugs::NONE,
        }
    }
}

/// The number of lanes and classes that one decision visits before it leaves the rest to the next: some ten milliseconds.
pub(crate) const SCANS_MAX: u64 = 500_000;

/// Bytes of events in one batch, as [`Event::bytes`](crate::engine::Event::bytes) counts them. A decision of this size
/// leaves the rest to the next one. Appending such a batch takes a fraction of a second, so it does not delay the
/// renewal of the term for longer.
pub const BATCH_BYTES_MAX: usize = 8 << 20;

/// Bytes of outputs that a run reuses from an earlier one: the same as the limit on a plan.
pub const REUSED_BYTES_MAX: usize = 64 << 20;

/// Slots of one worker. A larger number is a mistake: one worker would hold more leases than a reply can carry.
pub const SLOTS_MAX: u32 = 10_000;

/// Bytes of the grants in a reply. A message has at most 1 MiB, JSON within JSON may take twice the space, and the
/// reply carries more than grants. A step that exceeds the limit is granted alone.
pub(crate) const REPLY_GRANT_BYTES_MAX: usize = 384 * 1024;

/// Bytes of a grant that is alone in its reply. A worker accepts a response of 16 MiB, and JSON within JSON may take
/// twice the space. A step with larger inputs fails, because every worker that got it would be lost.
pub const SINGLE_GRANT_BYTES_MAX: usize = 6 << 20;

/// Bytes of a grant in JSON, without its texts.
pub(crate) const GRANT_FRAME: usize = 256;

/// A step that was passed over this often at a lock has the lock reserved for it when it is free.
pub(crate) const PASSED_OVER_MAX: u32 = 8;

/// A step that waited this long has its locks reserved for it when they are free.
pub(crate) const RESERVE_AFTER: Span = Span::secs(60);

/// The interval at which a wait that is over without consequence is checked again.
pub(crate) const WAIT_RECHECK_INTERVAL: Span = Span::secs(60);

/// A step that avoids the worker on which it failed may run there again after waiting this long.
pub(crate) const AVOID_WORKER_WAIT: Span = Span::secs(60);

/// A step may run on a worker that does not suit it after waiting this long. The time is long enough for a suitable
/// worker to end a step of about a second, and short beside the gain of a better machine.
pub const PREFERENCE_WAIT: Span = Span::secs(2);

/// Free deliveries of an attempt that no worker acknowledged. Further ones count, so that a step that kills its worker
/// at once is bounded too.
pub const UNCONFIRMED_DELIVERIES_MAX: u16 = 8;

/// Free deliveries of an attempt that a takeover interrupted. Further ones count, so that a step that kills both its
/// leader and its worker is bounded too.
pub const INTERRUPTED_DELIVERIES_MAX: u16 = 8;

/// If fewer workers than this fall silent at once, the fault is not assumed to be the leader's.
pub(crate) const BRAKE_WORKERS: usize = 5;

/// The brake gives up a share of the late workers in each period of this length.
pub(crate) const BRAKE_PACE: Span = Span::secs(1);

/// The share: a thirtieth, so that a whole fleet is given up within minutes if it does not return.
pub(crate) const BRAKE_STEPS: u32 = 30;
