//! The faults of a round.

use rustix::process::Signal;

use super::scene::WitnessScene;

/// A fault. A number chooses one by this order: the first ones are in every test run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RoundFault {
    /// The start of a step does not return, by a file lease on its program, while its worker is stopped.
    HungStart,
    KillWorkerAndGuard,
    KillTether,
    StopWorker,
    /// The tether alone enforces the deadline.
    StopWorkerAndGuard,
    StopLeader,
    /// A second worker starts from a copy of the state directory, on what looks like another host, while the first cannot
    /// reach the controller and its step runs on.
    SecondHost,
    /// The controller goes on with an earlier copy of its store, while the step runs at a worker that cannot reach it.
    RestoreStore,
    /// The disk of the controller's store is full.
    FullStoreDisk,
    StopGuard,
    KillWorker,
    KillGuard,
    RestartLeader,
    /// Like `RestoreStore`, but the record beside the journal shows that something is missing.
    RestoreJournal,
    /// The controller restarts twice, the second time with a clock that was set forward, while the worker is stopped.
    ClockSetForward,
    ClockSetBack,
    /// The disk of the workers' state is full.
    FullWorkerDisk,
    /// The files of a PostgreSQL server are put back.
    RestoreDatabase,
    /// A PostgreSQL standby that lagged takes over.
    PromoteStandby,
    /// A PostgreSQL server behind a pooler crashes and is away.
    CrashDatabase,
    /// The Redis that workers reach the controller through is emptied.
    FlushRedis,
}

/// The component that a fault affects. The two faults of one round affect different ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FaultTarget {
    Worker,
    Guard,
    Tether,
    Controller,
}

/// The distance by which clocks are set.
const HOURS: i64 = 7;

impl RoundFault {
    pub(super) const ALL: [Self; 21] = [
        Self::HungStart,
        Self::KillWorkerAndGuard,
        Self::KillTether,
        Self::StopWorker,
        Self::StopWorkerAndGuard,
        Self::StopLeader,
        Self::SecondHost,
        Self::RestoreStore,
        Self::FullStoreDisk,
        Self::StopGuard,
        Self::KillWorker,
        Self::KillGuard,
        Self::RestartLeader,
        Self::RestoreJournal,
        Self::ClockSetForward,
        Self::ClockSetBack,
        Self::FullWorkerDisk,
        Self::RestoreDatabase,
        Self::PromoteStandby,
        Self::CrashDatabase,
        Self::FlushRedis,
    ];

    /// Returns whether another fault can follow in the same round.
    pub(super) fn goes_with(self, other: Self) -> bool {
        let simple = other.needs_no_site() && other != Self::HungStart;
        // If a tether is killed with its worker and guard, no process of windlass can kill its step.
        let all = [FaultTarget::Worker, FaultTarget::Guard, FaultTarget::Tether];
        let both: Vec<FaultTarget> = self.parts().iter().chain(other.parts()).copied().collect();
        simple
            && !self.parts().iter().any(|part| other.parts().contains(part))
            && !all.iter().all(|part| both.contains(part))
    }

    const fn parts(self) -> &'static [FaultTarget] {
        match self {
            Self::StopWorker | Self::KillWorker | Self::SecondHost => &[FaultTarget::Worker],
            Self::StopGuard | Self::KillGuard => &[FaultTarget::Guard],
            Self::KillTether => &[FaultTarget::Tether],
            Self::HungStart => &[FaultTarget::Worker, FaultTarget::Guard, FaultTarget::Tether],
            Self::KillWorkerAndGuard | Self::StopWorkerAndGuard | Self::FullWorkerDisk => {
                &[FaultTarget::Worker, FaultTarget::Guard]
            }
            Self::StopLeader | Self::RestartLeader | Self::FullStoreDisk | Self::CrashDatabase => {
                &[FaultTarget::Controller]
            }
            Self::RestoreStore
            | Self::RestoreJournal
            | Self::ClockSetForward
            | Self::ClockSetBack
            | Self::RestoreDatabase
            | Self::PromoteStandby
            | Self::FlushRedis => &[
                FaultTarget::Worker,
                FaultTarget::Guard,
                FaultTarget::Tether,
                FaultTarget::Controller,
            ],
        }
    }

    /// Returns whether the fault is possible in any cluster.
    const fn needs_no_site(self) -> bool {
        matches!(
            self,
            Self::StopWorker
                | Self::StopWorkerAndGuard
                | Self::StopGuard
                | Self::StopLeader
                | Self::KillWorker
                | Self::KillGuard
                | Self::KillTether
                | Self::KillWorkerAndGuard
                | Self::RestartLeader
        )
    }

    /// Returns whether the lock passes on while the fault lasts.
    pub(super) const fn passes_on(self) -> bool {
        matches!(
            self,
            Self::StopWorker
                | Self::StopWorkerAndGuard
                | Self::KillWorker
                | Self::KillGuard
                | Self::KillTether
                | Self::KillWorkerAndGuard
                | Self::SecondHost
                | Self::ClockSetForward
                | Self::ClockSetBack
        )
    }

    /// Returns whether the controller forgets its grants.
    pub(super) const fn loses_history(self) -> bool {
        matches!(
            self,
            Self::RestoreStore
                | Self::RestoreJournal
                | Self::RestoreDatabase
                | Self::PromoteStandby
        )
    }

    /// Injects it, with the worker that has the lock as its victim.
    pub(super) fn inject(self, scene: &mut WitnessScene) {
        match self {
            Self::HungStart | Self::StopWorker => scene.signal_worker(Signal::STOP),
            Self::StopGuard => scene.signal_guard(Signal::STOP),
            Self::StopWorkerAndGuard => {
                scene.signal_worker(Signal::STOP);
                scene.signal_guard(Signal::STOP);
            }
            Self::StopLeader => scene.cluster.controller.signal(Signal::STOP),
            Self::KillWorker => scene.signal_worker(Signal::KILL),
            Self::KillGuard => scene.signal_guard(Signal::KILL),
            Self::KillTether => scene.kill_tethers(),
            Self::KillWorkerAndGuard => {
                // Neither must see that the other is gone.
                scene.signal_guard(Signal::STOP);
                scene.signal_worker(Signal::KILL);
                scene.signal_guard(Signal::KILL);
            }
            Self::RestartLeader => scene.cluster.kill(),
            Self::SecondHost => scene.start_second_host(),
            Self::FullStoreDisk => scene.fill_store_disk(),
            Self::FullWorkerDisk => scene.site.disk().fill(),
            Self::CrashDatabase => scene.site.database().stop(),
            Self::FlushRedis => scene.site.flush_redis(),
            Self::ClockSetForward => scene.restart_with_clock(HOURS),
            Self::ClockSetBack => scene.restart_with_clock(-HOURS),
            Self::RestoreStore | Self::RestoreJournal => scene.restore_store(self),
            Self::RestoreDatabase | Self::PromoteStandby => scene.lose_database_history(),
        }
    }

    /// Ends the fault, if it does not end by itself.
    pub(super) fn heal(self, scene: &mut WitnessScene) {
        match self {
            Self::HungStart => {
                scene.give_lease_back();
                // A start that continued now would be recorded.
                scene.until_lines(1);
                scene.signal_worker(Signal::CONT);
            }
            Self::StopGuard => scene.signal_guard(Signal::CONT),
            Self::StopWorkerAndGuard => {
                scene.signal_guard(Signal::CONT);
                scene.signal_worker(Signal::CONT);
            }
            Self::StopLeader => scene.cluster.controller.signal(Signal::CONT),
            Self::RestartLeader => scene.cluster.restart(),
            Self::FullStoreDisk | Self::FullWorkerDisk => scene.make_room(),
            Self::CrashDatabase => scene.restart_database(),
            Self::FlushRedis => scene.start_more_workers(),
            Self::StopWorker
            | Self::ClockSetForward
            | Self::ClockSetBack
            | Self::RestoreStore
            | Self::RestoreJournal
            | Self::RestoreDatabase
            | Self::PromoteStandby
            | Self::SecondHost => scene.signal_worker(Signal::CONT),
            Self::KillWorker | Self::KillGuard | Self::KillTether | Self::KillWorkerAndGuard => {}
        }
    }
}
