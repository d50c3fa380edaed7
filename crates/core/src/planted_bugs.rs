//! Known bugs that can be switched on to prove that the simulator finds them.
//!
//! A simulator that finds nothing may be blind. Each [`PlantedBug`] is a mistake that this design invites; the hunt switches
//! one on at a time and must see an invariant break. Without the feature `planted_bugs` the switch is a constant `false`
//! and the compiler removes every trace.

/// A mistake to switch on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PlantedBug {
    /// A grant whose reply was lost is taken as delivered and never sent again.
    LostReplyForgetsGrant,
    /// An exchange that was delayed and overtaken is believed as if it were the newest.
    DelayedExchangeRevokes,
    /// Undelivered grants are not counted when slots are.
    UndeliveredOverfillSlots,
    /// Grants wait for the next exchange instead of leaving with the parked one that they answered.
    SupersededPollDropsGrants,
    /// A new leader does not remember which outcomes were accepted.
    ReplyCacheLost,
    /// The journal takes an append of a deposed leader.
    AppendWithoutFence,
    /// Replies leave before their events are durable.
    ReplyBeforeDurable,
    /// A worker counts its deadline from the reply instead of from before its request.
    DeadlineFromReply,
    /// An outcome is accepted whatever fence it carries.
    NoFenceCheck,
    /// A leader sweeps leases without proving that it still leads.
    NoTermCheckOnSweep,
    /// Each takeover gives unconfirmed leases a new grace.
    GracePerTakeover,
    /// A lock passes on when its lease is told to stop, not when it has ended.
    LockFreedEarly,
    /// A step that is cancelled keeps its lock's slot.
    LockLeakedOnCancel,
    /// Locks are never reserved for a step that was passed over.
    TwoLockStarvation,
    /// Priority does not grow with waiting.
    PriorityStarvation,
    /// A failure blocks its direct dependents only.
    BlockedCascadeMissed,
    /// A failed attempt uses up deliveries.
    RetryCountedAsDelivery,
    /// An append of unknown outcome is repeated as a new batch.
    DoubleAppendAfterUnknown,
    /// A cell that is handed out again counts twice for its matrix's join.
    JoinCountedTwice,
    /// A late outcome is applied to its step.
    LateOutcomeApplied,
    /// The outcome of a lease that was given up counts although the step was handed out again since.
    OvertakenReportCounts,
    /// The deposed leader's own worker keeps running what holds a lock.
    DeposedWorkerKeepsLock,
    /// A lease ahead is given to another worker without waiting for its holder's word.
    TakenBackWhileStarting,
    /// A repeated grant starts its step again.
    RepeatedGrantRunsAgain,
    /// What a step prefers is not asked for.
    PreferenceIgnored,
    /// A step does under its key what another is at.
    KeyTakenTwice,
    /// A cancelled step keeps its key.
    KeyKeptOnCancel,
    /// A step that no worker could run satisfies the steps that need it.
    UnplaceableNeedIgnored,
    /// A takeover without proof of an unbroken history grants locks at once.
    EmbargoSkipped,
    /// Locks wait for a part of a lease after lost history.
    EmbargoTooShort,
    /// An embargo ends when journal time leaps at a takeover.
    LeapEndsEmbargo,
    /// An unconfirmed lease ends when journal time leaps at a takeover.
    LeapEndsLease,
    /// A term that was won without proof of the history, and wrote nothing, leaves the next one none the wiser.
    UnprovenForgotten,
    /// A new life of a worker frees the locks of the former one, whatever is proven.
    NewLifeFreesLocks,
    /// A tether leaves the deadline of its step to the guard.
    TetherIgnoresDeadline,
    /// A step runs on when its worker and its guard were killed.
    TetherOutlivesGuard,
    /// A start that hung when its step was to end runs the step later.
    HungStartRunsLater,
    /// A guard starts what it read after the deadline.
    HeldUpStartRuns,
    /// The lock of a guard is free while a tether of it is alive.
    GuardLockFreedEarly,
    /// A candidate asks the clock of the store whether a term is over.
    TermByStoreClock,
    /// A leader counts a renewal without an answer as granted.
    RenewedAfterUnknown,
    /// The number of a worker's life is the time of its host, whatever the number of the last one was.
    IncarnationIsWallTime,
    /// A report that a life has ended is believed from a worker that was revoked.
    RevokedGuardBelieved,
    /// A lock that is released by force takes the other locks of its holder with it.
    ForcedReleaseFreesAll,
    /// A limit per worker counts the steps of one run, not those of all.
    PerWorkerCountsOneRun,
    /// A run that has ended is sealed without being written to the archive.
    SealBeforeArchive,
    /// An event that comes between the archiving of a run and its sealing is not archived.
    LateEventNotArchived,
    /// The journal is pruned as far as its snapshots reach, whether or not a run that began before is sealed.
    PruneUnsealed,
    /// A new leader's shorter TTL counts for leases that it has not confirmed, whose workers cannot know of it.
    TakeoverUsesOwnTtl,
    /// Time in which no leader led counts as waiting.
    AbsenceCounts,
    /// The locks of a condemned run are free at once.
    CondemnFreesLocks,
    /// The leases of a former life are renewed by the contact of the next one, which has proven nothing.
    FrozenForgotten,
    /// A worker reports its steps as lost when its guard has died, while their tethers still end them.
    GuardDeathReported,
    /// A leader answers a life of a worker that another one has superseded, as if its leases went on.
    SupersededRenewed,
    /// A new registration of a plain worker frees the locks of its former life at once.
    PlainRejoinFreesLocks,
    /// A plain worker's report with an older fence completes a later hand-out of the step.
    PlainCompleteIgnoresFence,
    /// A plain worker's claim is answered with a step whose lease has ended.
    PlainOfferOutlivesLease,
    /// A controller that leads again goes on with what it knew of a plain worker when it led last.
    PlainSessionOutlivesTerm,
    /// Deciding panics when a lease ends of a run that nobody cancelled, if its pipeline is called `panics`, and when a
    /// worker of that name joins. Not in the hunt's list: the leader's loop itself has to survive it, and its tests
    /// switch it on.
    PanicsByName,
}

impl PlantedBug {
    /// Every bug that the simulator has to find, in the order of the hunt's table.
    pub const ALL: [Self; 58] = [
        Self::LostReplyForgetsGrant,
        Self::DelayedExchangeRevokes,
        Self::UndeliveredOverfillSlots,
        Self::SupersededPollDropsGrants,
        Self::ReplyCacheLost,
        Self::AppendWithoutFence,
        Self::ReplyBeforeDurable,
        Self::DeadlineFromReply,
        Self::NoFenceCheck,
        Self::NoTermCheckOnSweep,
        Self::GracePerTakeover,
        Self::LockFreedEarly,
        Self::LockLeakedOnCancel,
        Self::TwoLockStarvation,
        Self::PriorityStarvation,
        Self::BlockedCascadeMissed,
        Self::RetryCountedAsDelivery,
        Self::DoubleAppendAfterUnknown,
        Self::JoinCountedTwice,
        Self::LateOutcomeApplied,
        Self::OvertakenReportCounts,
        Self::DeposedWorkerKeepsLock,
        Self::TakenBackWhileStarting,
        Self::RepeatedGrantRunsAgain,
        Self::PreferenceIgnored,
        Self::KeyTakenTwice,
        Self::KeyKeptOnCancel,
        Self::UnplaceableNeedIgnored,
        Self::EmbargoSkipped,
        Self::EmbargoTooShort,
        Self::LeapEndsEmbargo,
        Self::LeapEndsLease,
        Self::UnprovenForgotten,
        Self::NewLifeFreesLocks,
        Self::TetherIgnoresDeadline,
        Self::TetherOutlivesGuard,
        Self::HungStartRunsLater,
        Self::HeldUpStartRuns,
        Self::GuardLockFreedEarly,
        Self::TermByStoreClock,
        Self::RenewedAfterUnknown,
        Self::IncarnationIsWallTime,
        Self::RevokedGuardBelieved,
        Self::ForcedReleaseFreesAll,
        Self::PerWorkerCountsOneRun,
        Self::SealBeforeArchive,
        Self::LateEventNotArchived,
        Self::PruneUnsealed,
        Self::TakeoverUsesOwnTtl,
        Self::AbsenceCounts,
        Self::CondemnFreesLocks,
        Self::FrozenForgotten,
        Self::GuardDeathReported,
        Self::SupersededRenewed,
        Self::PlainRejoinFreesLocks,
        Self::PlainCompleteIgnoresFence,
        Self::PlainOfferOutlivesLease,
        Self::PlainSessionOutlivesTerm,
    ];
}

/// Which bug is on, if any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlantedBugs {
    #[cfg(feature = "planted")]
    on: Option<PlantedBug>,
}

impl PlantedBugs {
    /// No bug: the only value there is without the feature.
    pub const NONE: Self = Self {
        #[cfg(feature = "planted")]
        on: None,
    };

    /// Exactly this bug.
    #[cfg(feature = "planted")]
    pub const fn only(bug: PlantedBug) -> Self {
        Self { on: Some(bug) }
    }

    /// Whether `bug` is on: never, in a build without the feature.
    #[inline]
    pub fn on(self, bug: PlantedBug) -> bool {
        self.planted() == Some(bug)
    }

    #[cfg(feature = "planted")]
    const fn planted(self) -> Option<PlantedBug> {
        self.on
    }

    #[cfg(not(feature = "planted"))]
    const fn planted(self) -> Option<PlantedBug> {
        let Self {} = self;
        None
    }
}
