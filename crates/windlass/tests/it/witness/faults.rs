//! What goes wrong in a round.

use rustix::process::Signal;

use super::scene::Scene;

/// A fault. The order decides which number chooses which: the first are in every test run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The start of a step does not return, by a file lease on its program, while its worker is stopped.
    HungStart,
    KillWorkerAndGuard,
    KillTether,
    StopWorker,
    StopGuard,
    StopLeader,
    KillWorker,
    KillGuard,
    RestartLeader,
}

impl Fault {
    const ALL: [Self; 9] = [
        Self::HungStart,
        Self::KillWorkerAndGuard,
        Self::KillTether,
        Self::StopWorker,
        Self::StopGuard,
        Self::StopLeader,
        Self::KillWorker,
        Self::KillGuard,
        Self::RestartLeader,
    ];

    /// The fault that a number chooses.
    pub(super) fn of(number: u64) -> Self {
        let index = usize::try_from(number).unwrap_or(0) % Self::ALL.len();
        Self::ALL[index]
    }

    /// Injects it, with the worker that has the lock as its victim.
    pub(super) fn inject(self, scene: &mut Scene) {
        match self {
            Self::HungStart | Self::StopWorker => scene.signal_worker(Signal::STOP),
            Self::StopGuard => scene.signal_guard(Signal::STOP),
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
        }
    }

    /// Ends it, as far as it does not last.
    pub(super) fn heal(self, scene: &mut Scene) {
        match self {
            Self::HungStart => {
                scene.give_lease_back();
                scene.signal_worker(Signal::CONT);
            }
            Self::StopWorker => scene.signal_worker(Signal::CONT),
            Self::StopGuard => scene.signal_guard(Signal::CONT),
            Self::StopLeader => scene.cluster.controller.signal(Signal::CONT),
            Self::RestartLeader => scene.cluster.restart(),
            Self::KillWorker | Self::KillGuard | Self::KillTether | Self::KillWorkerAndGuard => {}
        }
    }
}
