//! The owner of a run ends: the run leaves the queues, and is interrupted when its last lease has ended.

use super::ApplyError;
use crate::engine::state::engine::{DeferredWork, Engine};
use crate::engine::state::run::RunPresence;
use crate::id::{Incarnation, RunId, StepIx, WorkerId};
use crate::outcome::RunStatus;
use crate::planted_bugs::PlantedBug;
use crate::slab::{LaneIx, RunIx};

impl Engine {
    /// Halts the runs of every incarnation of an owner except the one that lives.
    pub(super) fn halt_runs_of(&mut self, owner: WorkerId, lives: Option<Incarnation>) {
        let owned = self.owned_runs.iter().filter(|(worker, _)| *worker == owner);
        let owned: Vec<RunIx> = owned.map(|(_, run)| *run).collect();
        for run in owned {
            let of = self.runs[run].options.owner.map(|owner| owner.incarnation);
            if lives.is_none() || of != lives {
                self.halt_run(run);
            }
        }
    }

    /// Takes the steps of a run out of the queues. Its lanes and locks stay while it has leases.
    fn halt_run(&mut self, run_ix: RunIx) {
        if !self.runs[run_ix].is_queued() {
            return;
        }
        self.purge_queued_steps(run_ix);
        self.runs[run_ix].presence = RunPresence::Halted;
        self.todo.push_back(DeferredWork::Interrupt(run_ix));
    }

    /// Removes every queued step of a run from its lanes.
    pub(in crate::engine) fn purge_queued_steps(&mut self, run_ix: RunIx) {
        let own = self.runs[run_ix].avoid.values().filter_map(|avoid| avoid.lane);
        let mut lanes: Vec<LaneIx> = own.chain(self.runs[run_ix].lanes.iter().copied()).collect();
        lanes.sort_unstable();
        lanes.dedup();
        self.board.remove_run(&lanes, run_ix, self.now);
        for step in self.runs[run_ix].avoid.keys().copied().collect::<Vec<StepIx>>() {
            self.leave_own_lane(run_ix, step);
        }
    }

    pub(super) fn run_interrupted(&mut self, id: RunId) -> Result<(), ApplyError> {
        let run_ix = self.run_ix(id)?;
        self.runs[run_ix].status = RunStatus::Interrupted;
        self.leave_queues(run_ix);
        self.forget_run(run_ix);
        self.no_more_workers.remove(&id);
        self.withdraw_keys(run_ix);
        Ok(())
    }

    /// Takes the steps of a run from their keys without a result. Steps of other runs that wait request the keys again.
    fn withdraw_keys(&mut self, run_ix: RunIx) {
        if self.config.bugs.on(PlantedBug::InterruptedRunKeepsKey) {
            return;
        }
        let now = self.trusted_time(self.now);
        for key in self.ledger.withdraw_run(run_ix) {
            for (run, step) in self.ledger.unblocked(&key, now) {
                self.settle_later(run, step);
            }
        }
    }
}
