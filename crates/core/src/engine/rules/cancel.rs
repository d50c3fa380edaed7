//! Ends runs on order, in two levels.

use super::decide::DecisionDraft;
use crate::engine::event::{self, CancelLevel, CancelReason};
use crate::engine::request::RequestDenial;
use crate::engine::state::engine::Engine;
use crate::id::RunId;

impl Engine {
    /// The first level lets running steps end politely and still runs `always()` steps; the second ends everything.
    /// Asking again for what is under way is done already.
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
        let before = self.runs[run_ix].cancel;
        if before.is_none_or(|(before, _)| before < level) {
            let reason = before.map_or(CancelReason::Asked, |(_, reason)| reason);
            self.emit(out, event::RunCancelled { run, level, reason });
        }
        Ok(())
    }

    /// Ends a run at the hardest level, as failed: one on which deciding failed, or one that an operator condemned.
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
