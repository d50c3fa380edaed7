//! Interrupts runs whose owner has ended.
//!
//! A run belongs to the process that started it: its *owner*, one incarnation of a worker. When that has ended, nothing
//! more is granted to the run. It is interrupted when its last lease has ended: the processes are dead then, so its
//! locks and keys are free. A lease of an owner that is not proven dead ends as any such lease
//! ([LEASES.md](../LEASES.md)). A lease that another worker holds in a shared run ends with its step.
//!
//! A run that was already cancelling ends instead: no process is left that could run its `always()` steps.

use super::decide::DecisionDraft;
use crate::engine::event::{self, CancelLevel, RunOwner};
use crate::engine::request::RequestDenial;
use crate::engine::state::engine::{DeferredWork, Engine};
use crate::engine::state::worker::WorkerStatus;
use crate::slab::RunIx;

impl Engine {
    pub(in crate::engine) fn interrupt_if_due(&mut self, out: &mut DecisionDraft, run_ix: RunIx) {
        let Some(run) = self.runs.get(run_ix).filter(|run| run.is_halted()) else { return };
        let id = run.id;
        if let Some((level, reason)) = run.cancel {
            if level < CancelLevel::Kill {
                self.emit(out, event::RunCancelled { run: id, level: CancelLevel::Kill, reason });
            }
            return;
        }
        // The end of the last lease comes back to this decision. A run with no step left ends.
        if !run.leases.is_empty() || run.open == 0 {
            return;
        }
        if self.todo.iter().any(|todo| todo.run() == run_ix) {
            // Steps that can no longer run are settled before.
            return self.todo.push_back(DeferredWork::Interrupt(run_ix));
        }
        self.emit(out, event::RunInterrupted { run: id });
    }

    /// Returns whether the owner of a run has registered and has not ended. A lost worker may return.
    pub(in crate::engine) fn owner_lives(&self, owner: RunOwner) -> bool {
        let worker = self.worker_ids.get(&owner.worker).map(|worker| &self.workers[*worker]);
        worker.is_some_and(|it| {
            it.incarnation == owner.incarnation && it.status != WorkerStatus::Ended
        })
    }

    /// Denies a run whose owner is unknown or has ended: nothing would ever interrupt it.
    pub(in crate::engine) fn owner_denial(&self, owner: Option<RunOwner>) -> Option<RequestDenial> {
        let gone = owner.filter(|owner| !self.owner_lives(*owner))?;
        Some(RequestDenial::OwnerGone { worker: gone.worker, incarnation: gone.incarnation })
    }
}
