//! Known bugs that can be switched on to prove that the simulator finds them.
//!
//! A simulator that finds nothing may be blind. Each [`PlantedBug`] is a mistake that this design invites. The hunt switches
//! on one at a time and must see a violated invariant. Without the feature `planted_bugs` the switch is a constant `false`,
//! and the compiler removes every trace of it.

/// A bug to switch on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PlantedBug {
    /// A grant whose reply was lost counts as delivered and is never resent.
    LostReplyForgetsGrant,
    /// An exchange that was delayed and overtaken counts as the newest.
    DelayedExchangeRevokes,
    /// Undelivered grants do not count against slots.
    UndeliveredOverfillSlots,
    /// Grants wait for the next exchange instead of leaving with the parked one.
    SupersededPollDropsGrants,
    /// A new leader does not remember which outcomes were accepted.
    ReplyCacheLost,
    /// The journal accepts an append of a deposed leader.
    AppendWithoutFence,
    /// Replies leave before their events are durable.
    ReplyBeforeDurable,
    /// A worker counts its deadline from the reply instead of from before its request.
    DeadlineFromReply,
    /// An outcome is accepted whatever its fence.
    NoFenceCheck,
    /// A leader expires leases without proof that it still leads.
    NoTermCheckOnSweep,
    /// Each takeover extends the grace period of unconfirmed leases.
    GracePerTakeover,
    /// A lock is released when its lease is told to stop, not when it has ended.
    LockFreedEarly,
    /// A cancelled step keeps its slot of a lock.
    LockLeakedOnCancel,
    /// Locks are never reserved for a step that was passed over.
    TwoLockStarvation,
    /// Priority does not grow with waiting time.
    PriorityStarvation,
    /// A failure blocks direct dependents only.
    BlockedCascadeMissed,
    /// A failed attempt uses up deliveries.
    RetryCountedAsDelivery,
    /// An append with an unknown result is repeated as a new batch.
    DoubleAppendAfterUnknown,
    /// A cell that is delivered again counts twice for the join of its matrix.
    JoinCountedTwice,
    /// A late outcome is applied to its step.
    LateOutcomeApplied,
    /// The outcome of a lease that was given up counts although the step has been granted again.
    OvertakenReportCounts,
    /// The deposed leader's own worker keeps running steps that hold a lock.
    DeposedWorkerKeepsLock,
    /// A queued lease is given to another worker without the consent of its holder.
    TakenBackWhileStarting,
    /// A repeated grant starts its step again.
    RepeatedGrantRunsAgain,
    /// Preferences of steps are ignored.
    PreferenceIgnored,
    /// A step runs although another step runs under the same idempotency key.
    KeyTakenTwice,
    /// A cancelled step keeps its idempotency key.
    KeyKeptOnCancel,
    /// An unplaceable step satisfies its dependents.
    UnplaceableNeedIgnored,
    /// A takeover without proof of an unbroken history grants locks at once.
    EmbargoSkipped,
    /// After lost history, locks wait for only a part of a lease duration.
    EmbargoTooShort,
    /// An embargo ends when journal time jumps at a takeover.
    LeapEndsEmbargo,
    /// An unconfirmed lease ends when journal time jumps at a takeover.
    LeapEndsLease,
    /// A term that was won without proof of the history, and wrote nothing, hides the missing proof from the next term.
    UnprovenForgotten,
    /// A node that leads a shared store without known workers takes it for granted that no grant is lost.
    SharedStoreTrusted,
    /// A new incarnation of a worker frees the locks of the previous one without proof.
    NewIncarnationFreesLocks,
    /// A tether leaves the deadline of its step to the guard.
    TetherIgnoresDeadline,
    /// A step runs on after its worker and its guard were killed.
    TetherOutlivesGuard,
    /// A start that hung until its step was to end runs the step later.
    HungStartRunsLater,
    /// A guard starts a step that it read after the deadline.
    HeldUpStartRuns,
    /// The lock file of a guard is free while one of its tethers is alive.
    GuardLockFreedEarly,
    /// A candidate uses the clock of the store to decide whether a term has expired.
    TermByStoreClock,
    /// A leader counts a renewal without a response as successful.
    RenewedAfterUnknown,
    /// An incarnation is the host's clock, whatever the previous incarnation.
    IncarnationIsWallTime,
    /// A death notice of a revoked worker is accepted.
    RevokedGuardBelieved,
    /// The forced release of a lock releases the other locks of its holder too.
    ForcedReleaseFreesAll,
    /// A per-worker limit counts the steps of one run instead of all runs.
    PerWorkerCountsOneRun,
    /// An ended run is sealed without being archived.
    SealBeforeArchive,
    /// An event between the archiving of a run and its sealing is not archived.
    LateEventNotArchived,
    /// The journal is pruned up to its snapshots, although a run that began before is not sealed.
    PruneUnsealed,
    /// A new leader's shorter TTL applies to unconfirmed leases, whose workers cannot know it.
    TakeoverUsesOwnTtl,
    /// Time without a leader counts as waiting time.
    AbsenceCounts,
    /// The locks of a condemned run are free at once.
    CondemnFreesLocks,
    /// Contact with the next incarnation, which has proven nothing, renews the leases of the previous one.
    FrozenForgotten,
    /// A worker reports its steps as lost when its guard has died, while their tethers still end them.
    GuardDeathReported,
    /// A leader answers a superseded incarnation of a worker as if its leases went on.
    SupersededRenewed,
    /// A new registration of a plain worker frees the locks of its previous incarnation at once.
    PlainRejoinFreesLocks,
    /// A plain worker's report with an older fence completes a later delivery of the step.
    PlainCompleteIgnoresFence,
    /// A plain worker's overdue step loses its lease with the order to stop.
    OverdueGivenUpAtOnce,
    /// A plain worker's claim returns a step whose lease has ended.
    PlainOfferOutlivesLease,
    /// A controller that leads again continues with what it knew of a plain worker in its previous term.
    PlainSessionOutlivesTerm,
    /// A leader lets time pass only when its inbox is empty.
    TicksWaitForEmptyInbox,
    /// A step that was withdrawn from the start queue is reported as withdrawn, and starts all the same.
    WithdrawnStepStarts,
    /// The start queue starts one step more than there are slots.
    QueueStartsOneTooMany,
    /// A queued step that could not start keeps its slot.
    FailedStartKeepsSlot,
    /// The death notice lists the first started step only.
    StartMissingFromNotice,
    /// The locks of a run are free when its owner has ended, before its processes are dead.
    InterruptionFreesLocks,
    /// A takeover interrupts the runs of owners in other processes.
    TakeoverInterrupts,
    /// Steps of a run go to workers that do not own it.
    OwnerIgnored,
    /// A resumed run repeats the steps that had succeeded.
    ResumeRepeatsSuccess,
    /// A resumed run begins again with the first attempt of each step.
    ResumeForgetsAttempts,
    /// A step waits for a lock that an ancestor of its run holds.
    AncestorLockWaits,
    /// An interrupted run keeps its idempotency keys.
    InterruptedRunKeepsKey,
    /// Deciding panics when a lease of an uncancelled run ends whose pipeline is called `panics`, and when a worker of that name
    /// joins. It is not in the hunt's list: the leader loop itself must survive it, and its tests switch it on.
    PanicsByName,
}

impl PlantedBug {
    /// Every bug that the simulator must find, in the order of the hunt's table.
    pub const ALL: [Self; 72] = [
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
        Self::SharedStoreTrusted,
        Self::NewIncarnationFreesLocks,
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
        Self::OverdueGivenUpAtOnce,
        Self::PlainOfferOutlivesLease,
        Self::PlainSessionOutlivesTerm,
        Self::TicksWaitForEmptyInbox,
        Self::WithdrawnStepStarts,
        Self::QueueStartsOneTooMany,
        Self::FailedStartKeepsSlot,
        Self::StartMissingFromNotice,
        Self::InterruptionFreesLocks,
        Self::TakeoverInterrupts,
        Self::OwnerIgnored,
        Self::ResumeRepeatsSuccess,
        Self::ResumeForgetsAttempts,
        Self::AncestorLockWaits,
        Self::InterruptedRunKeepsKey,
    ];
}

/// The bug that is on, if any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlantedBugs {
    #[cfg(feature = "planted")]
    on: Option<PlantedBug>,
}

impl PlantedBugs {
    /// No bug: the only value without the feature.
    pub const NONE: Self = Self {
        #[cfg(feature = "planted")]
        on: None,
    };

    /// Exactly this bug.
    #[cfg(feature = "planted")]
    pub const fn only(bug: PlantedBug) -> Self {
        Self { on: Some(bug) }
    }

    /// Returns whether `bug` is on: never, in a build without the feature.
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
