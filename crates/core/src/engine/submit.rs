//! Takes in runs, and lets go of those that are archived.

use std::collections::BTreeSet;

use super::decide::Out;
use super::event::Event;
use super::request::{Answer, Denial, Submit, Warning};
use super::run::Run;
use super::state::Engine;
use super::why::describe;
use super::worker::{Worker, WorkerStatus};
use crate::id::{RunId, StepIx};
use crate::plan::{Placement, Plan};

/// Every lock that a plan's steps take, with its slots.
pub(super) fn locks_of(plan: &Plan) -> impl Iterator<Item = (&str, u32)> {
    let names: BTreeSet<&str> =
        plan.specs().iter().flat_map(|spec| &spec.locks).map(|lock| &*lock.name).collect();
    names.into_iter().map(|name| (name, plan.lock_slots(name)))
}

impl Engine {
    pub(super) fn submit(&mut self, out: &mut Out, submit: Submit) -> Answer {
        if let Some(known) = self.run_ids.get(&submit.run).copied() {
            let same = self.runs[known].plan.fingerprint() == submit.plan.fingerprint();
            return if same {
                Answer::Submitted { warnings: Vec::new() }
            } else {
                Answer::Denied(Denial::RunExists(submit.run))
            };
        }
        if let Some(denial) = self.cannot_take(&submit) {
            return Answer::Denied(denial);
        }
        let Submit { run, plan, options, reused } = submit;
        self.emit(out, Event::RunSubmitted { run, plan, options, reused });
        Answer::Submitted { warnings: self.warnings(run) }
    }

    fn cannot_take(&self, submit: &Submit) -> Option<Denial> {
        if self.runs.len() >= self.config.runs_max {
            return Some(Denial::TooManyRuns(self.runs.len()));
        }
        let (active, more, max) =
            (self.nodes, submit.plan.node_count() as usize, self.config.steps_max);
        if active + more > max {
            return Some(Denial::TooManySteps { active, more, max });
        }
        let mut taken = BTreeSet::new();
        let plan = &submit.plan;
        let bad = submit
            .reused
            .iter()
            .map(|reuse| reuse.step)
            .find(|step| !plan.has_step(*step) || !taken.insert(*step));
        bad.map(Denial::BadReuse)
    }

    fn warnings(&self, run: RunId) -> Vec<Warning> {
        let run = &self.runs[self.run_ids[&run]];
        let slots = locks_of(&run.plan).filter_map(|(name, declared)| {
            let lock = &self.board.locks[self.board.lock_ids[name]];
            let effective = lock.slots();
            lock.is_disputed().then(|| Warning::LockSlotsDiffer {
                lock: name.into(),
                declared,
                effective,
            })
        });
        let classes: BTreeSet<u32> =
            run.lanes.iter().map(|lane| self.board.lanes[*lane].key.class).collect();
        let unserved = classes.into_iter().filter(|class| self.board.classes[*class].workers == 0);
        let unserved = unserved.map(|class| self.unserved(run, class));
        slots.chain(unserved).collect()
    }

    /// Says what is missing for a class of the run's steps.
    fn unserved(&self, run: &Run, class: u32) -> Warning {
        let of_class = |node: &StepIx| {
            let lane = run.plan.spec_index(*node).map(|spec| run.lanes[spec as usize]);
            lane.is_some_and(|lane| self.board.lanes[lane].key.class == class)
        };
        let placement = &self.board.classes[class].placement;
        Warning::NoWorkerYet {
            lacking: self.lacking(placement),
            step: run.plan.nodes().find(of_class).map_or("", |step| run.plan.name(step)).into(),
            placement: describe(placement),
        }
    }

    /// What no worker online has or is: the demands that nobody meets, or how far the nearest is from meeting all.
    fn lacking(&self, placement: &Placement) -> String {
        let online =
            self.workers.iter().map(|(_, it)| it).filter(|it| it.status == WorkerStatus::Online);
        let online: Vec<&Worker> = online.collect();
        if online.is_empty() {
            return "is online".to_owned();
        }
        let own = self.own;
        let may = online.into_iter().filter(|it| placement.barred(it.facts(own)).is_none());
        let may: Vec<&Worker> = may.collect();
        let missing =
            placement.requirement.demands().filter(|it| !may.iter().any(|w| it.matches(&w.labels)));
        let missing: Vec<String> = missing.map(|clause| format!("`{clause}`")).collect();
        let unmet = |it: &&&Worker| placement.requirement.unmet(&it.labels).count();
        match may.iter().min_by_key(unmet) {
            None => "may run it".to_owned(),
            Some(_) if !missing.is_empty() => format!("has {}", missing.join(" and ")),
            Some(nearest) => {
                let why = placement.refusal(nearest.facts(own)).unwrap_or_default();
                format!("has all of it at once: {}, which comes nearest, {why}", nearest.name)
            }
        }
    }

    pub(super) fn seal(&mut self, out: &mut Out, run: RunId) -> Answer {
        match self.run_status(run) {
            None => Answer::Denied(Denial::NoSuchRun(run)),
            Some(status) if !status.is_terminal() => Answer::Denied(Denial::RunNotEnded(run)),
            Some(_) => {
                self.emit(out, Event::RunSealed { run });
                Answer::Done
            }
        }
    }
}
