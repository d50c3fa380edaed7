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
    /// Bytes of the plans of all active runs: a quarter of the memory that a controller is given.
    pub plan_bytes_max: usize,
    /// Places that steps of active runs have at locks. It bounds what one change of a lock can cost.
    pub lock_uses_max: usize,
    /// Labels and workers' names that steps of active runs demand, steps with equal demands counted once. It bounds what one
    /// run and one worker can cost when they come, and what each worker takes in memory.
    pub demands_max: usize,
    /// Workers known, live or lately lost.
    pub workers_max: usize,
    /// Events in one decision. Bulk endings go on in the next one, so that exchanges are served between.
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
    /// Planted mistakes, none outside the simulator's hunt.
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
            bugs: PlantedBugs::NONE,
        }
    }
}

/// The number of lanes and classes that one decision visits before it leaves the rest to the next: some ten milliseconds.
pub(crate) const SCANS_MAX: u64 = 500_000;

/// Bytes of events that are gathered into one batch, as [`Event::bytes`](crate::engine::Event::bytes) counts them, and after which a
/// decision leaves the rest to the next one. An append of so much takes a fraction of a second, and holds up the renewal of
/// the term no longer than that.
pub const BATCH_BYTES_MAX: usize = 8 << 20;

/// Bytes of outputs that a run takes over from an earlier one: as much as its plan may have.
pub const REUSED_BYTES_MAX: usize = 64 << 20;

/// Slots of one worker. More is a mistake, and would let one worker hold more leases than a reply can carry.
pub const SLOTS_MAX: u32 = 10_000;

/// Bytes of the grants in a reply: a message has at most 1 MiB, JSON within JSON may take twice the room, and a part is for
/// the rest of the reply. A step that alone has more is granted alone.
pub(crate) const REPLY_GRANT_BYTES_MAX: usize = 384 * 1024;

/// Bytes of a grant that is alone in its reply: a worker accepts an answer of 16 MiB, and JSON within JSON may take twice
/// the room. A step that reads more fails, because every worker that it was granted to would be lost.
pub const SINGLE_GRANT_BYTES_MAX: usize = 6 << 20;

/// Bytes of a grant beside its texts, written as JSON.
pub(crate) const GRANT_FRAME: usize = 256;

/// A step that was passed over this often at a lock has the lock reserved for it when it is free.
pub(crate) const PASSED_OVER_MAX: u32 = 8;

/// A step that waited this long has its locks reserved for it when they are free.
pub(crate) const RESERVE_AFTER: Span = Span::secs(60);

/// The interval at which a wait that is over without consequence is checked again.
pub(crate) const WAIT_RECHECK_INTERVAL: Span = Span::secs(60);

/// A step that should run elsewhere than where it failed may run there all the same after waiting this long.
pub(crate) const AVOID_WORKER_WAIT: Span = Span::secs(60);

/// A step may run on a worker that does not suit it after waiting this long for one that does. Long enough for a suiting
/// worker's running step of a second or so to end, short beside what a better machine is preferred for.
pub const PREFERENCE_WAIT: Span = Span::secs(2);

/// Deliveries of an attempt that are free because no worker acknowledged them. Further ones count, so that a step that
/// kills its worker at once is bounded too.
pub const UNCONFIRMED_DELIVERIES_MAX: u16 = 8;

/// Deliveries of an attempt that are free because a takeover came between. Further ones count, so that a step that kills
/// its leader with its worker is bounded too.
pub const INTERRUPTED_DELIVERIES_MAX: u16 = 8;

/// Fewer workers than this vanishing at once are no sign that the fault is the leader's own.
pub(crate) const BRAKE_WORKERS: usize = 5;

/// While the brake is on, a share of the late workers is given up in each such span.
pub(crate) const BRAKE_PACE: Span = Span::secs(1);

/// The share: a thirtieth, so that even a fleet is given up within minutes if it does not come back.
pub(crate) const BRAKE_STEPS: u32 = 30;
