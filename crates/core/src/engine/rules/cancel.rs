//! Ends runs on request, in two levels.

use super::decide::DecisionDraft;
use crate::engine::event::{self, CancelLevel, CancelReason};
use crate::engine::request::RequestDenial;
use crate::engine::state::engine::Engine;
use crate::id::RunId;

impl Engine {
    /// The first level stops running steps with SIGTERM and still runs `always()` steps; the second kills everything.
    /// Repeating a request that is in effect changes nothing.
    pub(in crate::engine) fn cancel(
        &mut self,
        out: &mut DecisionDraft,
        run: RunId,
        level: CancelLevel,
    ) -> Result<(), RequestDenial> {
        let Some(run_ix) = self.run_ids.get(&run).copied() else {
            return Err(RequestDenial::NoSuchRun(run));
        };
        if self.runs[run_ix].status.is_terminal() {
            return Err(RequestDenial::RunEnded(run));
        }
        // Nothing would run the `always()` steps of a run without an owner.
        let level = if self.runs[run_ix].is_queued() { level } else { CancelLevel::Kill };
        let before = self.runs[run_ix].cancel;
        if before.is_none_or(|(before, _)| before < level) {
            let reason = before.map_or(CancelReason::Asked, |(_, reason)| reason);
            self.emit(out, event::RunCancelled { run, level, reason });
        }
        Ok(())
    }

    /// Kills a run and ends it as failed: the engine panicked while it decided on the run, or an operator condemned it.
    pub(in crate::engine) fn condemn(
        &mut self,
        out: &mut DecisionDraft,
        run: RunId,
    ) -> Result<(), RequestDenial> {
        let Some(run_ix) = self.run_ids.get(&run).copied() else {
            return Err(RequestDenial::NoSuchRun(run));
        };
        if self.runs[run_ix].status.is_terminal() {
            return Err(RequestDenial::RunEnded(run));
        }
        let hollow = self.runs[run_ix].is_hollow();
        let reason = if hollow { CancelReason::Condemned } else { CancelReason::Defect };
        let level = CancelLevel::Kill;
        self.emit(out, event::RunCancelled { run, level, reason });
        Ok(())
    }
}
