//! Interrupted runs in a folder: another process resumes them, or a client cancels them.

use windlass_core::engine::{CancelLevel, Event, ResumeRun, RunOwner, event};
use windlass_core::id::{RunId, WorkerId};
use windlass_core::outcome::RunStatus;

use super::client::{ClientOp, run_id};
use super::world::SimWorld;

impl SimWorld<'_> {
    /// Follows the events that begin and end an interruption.
    pub(crate) fn note_interruption(&mut self, event: &Event) {
        if let Event::RunInterrupted(event::RunInterrupted { run }) = event {
            self.owner_is_gone(*run);
            let at = usize::try_from(run.0 - 1).expect("runs are few");
            self.add_client_op(ClientOp::resume(at));
            let wait = self.rng.range(1, 20_000);
            self.clients.last_mut().expect("added just now").rests_until = self.now + wait;
        }
        if let Event::RunResumed(event::RunResumed { run, .. }) = event {
            let sealed = self.maintenance.is_sealed(*run);
            let mark =
                if sealed { "sealed run resumed" } else { "interrupted run resumed unsealed" };
            self.marks.hit(mark);
            self.maintenance.run_resumed(*run);
        }
    }

    /// Checks in true time that the process to which an interrupted run belongs has ended.
    fn owner_is_gone(&mut self, run: RunId) {
        let Some(owner) = self.witness.owner_of(run) else { return };
        let worker = usize::try_from(owner.worker.0).expect("workers are few");
        let it = &self.workers[worker];
        if it.incarnation == owner.incarnation && !it.is_down() {
            self.fail("I25 owners", format!("run {run} is interrupted and {owner:?} lives"));
        }
    }

    /// Returns the worker of a process that can own a run now.
    pub(crate) fn owner_now(&self, worker: usize) -> Option<RunOwner> {
        let it = &self.workers[worker];
        let is_alive = !it.is_down() && it.session.is_some();
        let worker = WorkerId(worker as u64);
        is_alive.then_some(RunOwner { worker, incarnation: it.incarnation, shares: false })
    }

    /// Returns the request that resumes a run; `None` if the run is not interrupted, or no process can own it now.
    /// Sometimes a client resumes it to cancel it.
    pub(crate) fn resume_request(&mut self, run: usize, cancels: bool) -> Option<ResumeRun> {
        let worker = self.rng.index(self.workers.len());
        let owner = if cancels { None } else { Some(self.owner_now(worker)?) };
        let id = run_id(run);
        let records = &self.journal.records;
        let events = records.iter().map(|record| (record.at, &record.event));
        let of_run = |event: &Event| event.run() == Some(id) || matches!(event, Event::Led(_));
        let resume = ResumeRun::from_events(events.filter(|(_, event)| of_run(event)))?;
        Some(resume.owned_by(owner))
    }

    pub(crate) fn is_interrupted(&self, run: usize) -> bool {
        self.witness.run_status(run_id(run)) == Some(RunStatus::Interrupted)
    }

    /// Ends a run that was resumed without an owner.
    pub(crate) fn resumed_to_cancel(&mut self, run: usize) {
        self.marks.hit("interrupted run resumed to be cancelled");
        self.add_client_op(ClientOp::cancel(run, CancelLevel::Kill));
    }
}
