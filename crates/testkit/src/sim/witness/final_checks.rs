//! Rules for the end of a schedule.

use windlass_core::engine::Engine;
use windlass_core::id::{RunId, StepIx};
use windlass_core::outcome::{RunStatus, StepStatus};

use super::state::{BrokenRule, SimWitness, require};
use crate::sim::leader::LeaderNode;
use crate::sim::world::SimWorld;

impl SimWitness {
    pub(crate) fn all_ended(&self) -> bool {
        self.runs.len() == self.expected_runs
            && self.runs.values().all(|run| run.status.is_terminal())
    }

    /// Returns every step that has not ended, the ready ones first.
    pub(crate) fn open_steps(&self) -> Vec<(RunId, StepIx)> {
        let mut open = Vec::new();
        for (id, run) in &self.runs {
            let steps = run.plan.nodes().filter(|node| !run.plan.is_join(*node));
            open.extend(
                steps.filter(|step| !run.status(*step).is_terminal()).map(|step| (*id, step)),
            );
        }
        open.sort_by_key(|(run, step)| !self.runs[run].needs_met(*step));
        open
    }

    /// Returns what is missing for the end of the schedule.
    pub(crate) fn unfinished(&self) -> String {
        let mut lines = Vec::new();
        for (id, run) in self.runs.iter().filter(|(_, run)| !run.status.is_terminal()) {
            let open = run.plan.nodes().filter(|node| !run.status(*node).is_terminal());
            let open: Vec<String> = open
                .map(|node| {
                    format!(
                        "{} {} {:?}",
                        run.plan.name(node),
                        run.status(node),
                        run.step(node).lease
                    )
                })
                .collect();
            lines.push(format!("run {id}: {}", open.join(", ")));
        }
        if lines.is_empty() {
            format!("{} of {} runs", self.runs.len(), self.expected_runs)
        } else {
            lines.join("; ")
        }
    }

    /// Returns the number of steps that succeeded, and of all steps.
    pub(crate) fn succeeded(&self) -> (u64, u64) {
        let steps = self.runs.values().flat_map(|run| &run.steps);
        let (mut good, mut all) = (0, 0);
        for step in steps {
            all += 1;
            good += u64::from(step.status == StepStatus::Succeeded);
        }
        (good, all)
    }

    /// Checks that the books and the engine agree.
    pub(crate) fn matches_engine(&self, engine: &Engine) -> Result<(), BrokenRule> {
        for (id, run) in self.runs.iter().filter(|(id, _)| !self.sealed.contains(id)) {
            require(
                engine.run_status(*id).is_some_and(|status| same_status(status, run.status)),
                "I16 log",
                || {
                    format!(
                        "run {id}: the books say {}, the engine {:?}",
                        run.status,
                        engine.run_status(*id)
                    )
                },
            )?;
            for node in run.plan.nodes() {
                let (mine, theirs) = (run.status(node), engine.step_status(*id, node));
                let agrees = theirs.is_some_and(|theirs| {
                    mine == theirs || !mine.is_terminal() && !theirs.is_terminal()
                });
                require(agrees, "I16 log", || {
                    format!(
                        "run {id} {}: the books say {mine}, the engine {theirs:?}",
                        run.plan.name(node)
                    )
                })?;
            }
        }
        Ok(())
    }
}

fn same_status(engine: RunStatus, book: RunStatus) -> bool {
    engine == book || (engine == RunStatus::Cancelling && book == RunStatus::Running)
}

impl SimWorld<'_> {
    /// Checks that the live engine, an engine that only replayed, and the books agree.
    pub(crate) fn last_checks(&mut self) {
        let Some(replayed) = self.rebuild() else { return };
        match self.folded() {
            Ok(folded) => self.compare(&folded.dump_details(), &replayed.dump_details()),
            Err(error) => self.fail("I16 log", format!("the journal does not replay: {error}")),
        }
        let agreed = self.witness.matches_engine(&replayed);
        self.check(agreed);
        let engines = self.leaders.iter().filter_map(LeaderNode::settled_engine);
        let live = engines.max_by_key(|engine| engine.term());
        let Some(live) = live else { return };
        let (broken, live) = (live.check(), live.dump_details());
        self.compare(&live, &replayed.dump_details());
        if let Some(violation) = broken.into_iter().next() {
            self.fail(violation.invariant, violation.detail);
        }
        if !self.witness.live.is_empty() {
            let live = format!("{:?}", self.witness.live);
            self.fail(
                "I14 conservation",
                format!("leases are open though every run has ended: {live}"),
            );
        }
    }

    /// Checks that a live engine and a replayed one agree on everything that follows from the journal.
    pub(crate) fn compare(&mut self, live: &str, replayed: &str) {
        if live != replayed {
            let differs =
                live.lines().zip(replayed.lines()).find(|(live, replayed)| live != replayed);
            self.fail("I16 log", format!("live and replayed differ: {differs:?}"));
        }
    }
}
