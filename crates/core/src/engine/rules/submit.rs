//! Accepts submitted runs, and removes archived ones.

use std::collections::{BTreeMap, BTreeSet};

use super::decide::DecisionDraft;
use crate::engine::config::REUSED_BYTES_MAX;
use crate::engine::event::{self, RunOwner};
use crate::engine::queue::requirement_class::{ClassKey, describe_placement};
use crate::engine::request::{RequestDenial, SubmitRun, SubmitWarning};
use crate::engine::state::engine::Engine;
use crate::engine::state::run::Run;
use crate::engine::state::worker::{Worker, WorkerStatus};
use crate::id::{RunId, StepIx};
use crate::plan::{Placement, Plan};
use crate::slab::ClassIx;

/// The maximum number of warnings in the answer to a submission. Each one costs a visit of every worker.
const WARNINGS_MAX: usize = 20;

/// Returns every lock that a plan's steps take, with its slots.
pub(in crate::engine) fn locks_of(plan: &Plan) -> impl Iterator<Item = (&str, u32)> {
    let names: BTreeSet<&str> =
        plan.specs().iter().flat_map(|spec| &spec.locks).map(|lock| &*lock.name).collect();
    names.into_iter().map(|name| (name, plan.lock_slots(name)))
}

impl Engine {
    pub(in crate::engine) fn submit(
        &mut self,
        out: &mut DecisionDraft,
        submit: SubmitRun,
    ) -> Result<Vec<SubmitWarning>, RequestDenial> {
        if let Some(known) = self.run_ids.get(&submit.run).copied() {
            let same = self.runs[known].plan.fingerprint() == submit.plan.fingerprint();
            return if same { Ok(Vec::new()) } else { Err(RequestDenial::RunExists(submit.run)) };
        }
        if let Some(denial) = self.submit_denial(&submit) {
            return Err(denial);
        }
        let SubmitRun { run, plan, options, reused } = submit;
        self.emit(out, event::RunSubmitted { run, plan, options, reused });
        Ok(self.warnings(run))
    }

    fn submit_denial(&self, submit: &SubmitRun) -> Option<RequestDenial> {
        if self.is_condemned(submit.run) {
            return Some(RequestDenial::RunEnded(submit.run));
        }
        if self.resumable.get(submit.run).is_some() {
            return Some(RequestDenial::RunInterrupted(submit.run));
        }
        let owner = submit.options.owner;
        let denial = self.owner_denial(owner).or_else(|| self.size_denial(&submit.plan, owner));
        if denial.is_some() {
            return denial;
        }
        let plan = &submit.plan;
        let reused = submit.reused.iter().map(|reuse| reuse.output.len()).sum::<usize>();
        if reused > REUSED_BYTES_MAX {
            return Some(RequestDenial::TooMuchReused { bytes: reused, max: REUSED_BYTES_MAX });
        }
        let mut taken = BTreeSet::new();
        let bad = submit
            .reused
            .iter()
            .map(|reuse| reuse.step)
            .find(|step| !plan.has_step(*step) || !taken.insert(*step));
        bad.map(RequestDenial::BadReuse)
    }

    /// Checks whether the run exceeds a limit, alone or together with all active runs.
    pub(super) fn size_denial(
        &self,
        plan: &Plan,
        owner: Option<RunOwner>,
    ) -> Option<RequestDenial> {
        if self.runs.len() >= self.config.runs_max {
            return Some(RequestDenial::TooManyRuns(self.runs.len()));
        }
        let (active, more) = (self.nodes, plan.node_count() as usize);
        let max = self.config.steps_max;
        if active + more > max {
            return Some(RequestDenial::TooManySteps { active, more, max });
        }
        if let Some(excess) = plan.exceeded_limit() {
            return Some(RequestDenial::PlanTooLarge(excess));
        }
        let (active, more, max) = (self.plan_bytes, plan.bytes(), self.config.plan_bytes_max);
        if active + more > max {
            return Some(RequestDenial::TooManyBytes { active, more, max });
        }
        self.queue_denial(plan, owner)
    }

    /// Checks whether the run exceeds a limit of the queues.
    pub(super) fn queue_denial(
        &self,
        plan: &Plan,
        owner: Option<RunOwner>,
    ) -> Option<RequestDenial> {
        let (active, more) = (self.queues.lock_uses, plan.lock_uses());
        let max = self.config.lock_uses_max;
        if active + more > max {
            return Some(RequestDenial::TooManyLockUses { active, more, max });
        }
        let known = &self.queues.class_ids;
        let key = |placement: &Placement| ClassKey::new(placement, owner);
        let fresh = plan.placements().into_iter().filter(|it| !known.contains_key(&key(it)));
        let more = fresh.map(Placement::demand_count).sum();
        let (active, max) = (self.queues.demands, self.config.demands_max);
        (active + more > max).then_some(RequestDenial::TooManyDemands { active, more, max })
    }

    pub(super) fn warnings(&self, run: RunId) -> Vec<SubmitWarning> {
        let run = &self.runs[self.run_ids[&run]];
        let slots = locks_of(&run.plan).filter_map(|(name, declared)| {
            let lock = &self.queues.locks[self.queues.lock_ids[name]];
            let effective = lock.slots();
            lock.has_conflicting_slots().then(|| SubmitWarning::LockSlotsDiffer {
                lock: name.into(),
                declared,
                effective,
            })
        });
        let mut warnings: Vec<SubmitWarning> = slots.take(WARNINGS_MAX).collect();
        let unserved = self.unserved_classes(run);
        let room = WARNINGS_MAX - warnings.len();
        let reported = unserved.iter().take(room);
        warnings.extend(reported.map(|(class, step)| self.no_worker_yet(run, *class, *step)));
        if unserved.len() > room {
            warnings.push(SubmitWarning::More(unserved.len() - room));
        }
        warnings
    }

    /// Returns the classes of the run's steps that no worker serves, each with its first step. Visits every step once.
    fn unserved_classes(&self, run: &Run) -> BTreeMap<ClassIx, StepIx> {
        let mut first = BTreeMap::new();
        for node in run.plan.nodes() {
            let Some(spec) = run.plan.spec_index(node) else { continue };
            let class = self.queues.lanes[run.lanes[spec.0 as usize]].key.class;
            if self.queues.classes[class].workers == 0 {
                first.entry(class).or_insert(node);
            }
        }
        first
    }

    /// Returns a warning that names what is missing for a class of the run's steps.
    fn no_worker_yet(&self, run: &Run, class: ClassIx, step: StepIx) -> SubmitWarning {
        let placement = self.queues.classes[class].placement();
        SubmitWarning::NoWorkerYet {
            lacking: self.missing_demands(class),
            step: run.plan.name(step).into(),
            placement: describe_placement(placement),
        }
    }

    /// Returns the requirements that no online worker meets, or those that the closest worker lacks.
    fn missing_demands(&self, class: ClassIx) -> String {
        let placement = self.queues.classes[class].placement();
        let online =
            self.workers.iter().map(|(_, it)| it).filter(|it| it.status == WorkerStatus::Online);
        let online: Vec<&Worker> = online.collect();
        if online.is_empty() {
            return "is online".to_owned();
        }
        let facts = |worker| self.placement_facts(worker, class);
        let may =
            online.into_iter().filter(|it| placement.refusal_beyond_labels(facts(it)).is_none());
        let may: Vec<&Worker> = may.collect();
        let missing =
            placement.requirement.0.iter().filter(|it| !may.iter().any(|w| it.matches(&w.labels)));
        let missing: Vec<String> = missing.map(|clause| format!("`{clause}`")).collect();
        let unmet = |it: &&&Worker| placement.requirement.unmet_clauses(&it.labels).count();
        match may.iter().min_by_key(unmet) {
            None => "may run it".to_owned(),
            Some(_) if !missing.is_empty() => format!("has {}", missing.join(" and ")),
            Some(nearest) => {
                let why = placement.refusal(facts(nearest)).unwrap_or_default();
                format!("has all of it at once: {}, which comes nearest, {why}", nearest.name)
            }
        }
    }

    pub(in crate::engine) fn seal(
        &mut self,
        out: &mut DecisionDraft,
        run: RunId,
    ) -> Result<(), RequestDenial> {
        match self.run_status(run) {
            None => Err(RequestDenial::NoSuchRun(run)),
            Some(status) if !status.is_at_rest() => Err(RequestDenial::RunNotEnded(run)),
            Some(_) => {
                self.emit(out, event::RunSealed { run });
                Ok(())
            }
        }
    }
}
