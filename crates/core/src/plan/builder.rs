//! Builds a plan node by node.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::check::{PlanError, excess_lists, is_name};
use super::fingerprint::PlanFingerprint;
use super::graph::{PlanGraph, critical_path_lengths};
use super::limits::{
    CELLS_MAX, DEMANDS_MAX, EDGES_MAX, LOCK_USES_MAX, NEEDS_MAX, PLAN_BYTES_MAX, REPEATS_MAX,
    STEPS_MAX, WORK_MAX,
};
use super::plan_type::{JOIN, NEED_BYTES, NODE_BYTES, Plan};
use super::step_spec::{Placement, StepSpec};
use crate::id::StepIx;

/// The kind of a need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NeedKind {
    /// The step waits for the need, and is blocked if the need fails.
    Required,
    /// The step waits for the need, and runs even if the need fails.
    Optional,
}

/// Collects steps, matrices, needs and locks; [`build`](Self::build) checks and freezes them.
#[derive(Debug)]
pub struct PlanBuilder {
    pipeline: Box<str>,
    names: Vec<Box<str>>,
    spec_of: Vec<u32>,
    work_of: Vec<u32>,
    /// Specs by content. Specs with a per-worker limit also depend on their definition, because the limit counts by name.
    specs: BTreeMap<(StepSpec, u32), u32>,
    definitions: u32,
    works: BTreeMap<Arc<str>, u32>,
    needs: Vec<(StepIx, StepIx, NeedKind)>,
    lock_slots: BTreeMap<Box<str>, u32>,
    /// Bytes of names, works and specs, counted once if shared.
    bytes: usize,
    /// Lock uses of all specs.
    lock_uses: usize,
    problems: Vec<PlanError>,
}

/// Maximum problems reported for one plan.
const PROBLEMS_MAX: usize = 1_000;

impl PlanBuilder {
    /// Creates an empty plan of a pipeline.
    pub fn new(pipeline: &str) -> Self {
        Self {
            pipeline: pipeline.into(),
            names: Vec::new(),
            spec_of: Vec::new(),
            work_of: Vec::new(),
            specs: BTreeMap::new(),
            definitions: 0,
            works: BTreeMap::new(),
            needs: Vec::new(),
            lock_slots: BTreeMap::new(),
            bytes: 0,
            lock_uses: 0,
            problems: Vec::new(),
        }
    }

    /// Adds a step without work, for plans whose work is known by name.
    pub fn step(&mut self, name: &str, spec: StepSpec) -> StepIx {
        self.step_with(name, spec, "")
    }

    /// Adds a step that executes `work`, which only executors interpret.
    pub fn step_with(&mut self, name: &str, spec: StepSpec, work: &str) -> StepIx {
        self.definitions += 1;
        self.cell(name, spec, work)
    }

    fn cell(&mut self, name: &str, spec: StepSpec, work: &str) -> StepIx {
        let spec = self.share_spec(name, spec);
        let work = self.share_work(name, work);
        self.node(name.into(), spec, work)
    }

    fn share_spec(&mut self, name: &str, spec: StepSpec) -> u32 {
        let spec = self.check_spec(name, spec);
        let definition = if spec.per_worker.is_some() { self.definitions } else { 0 };
        let fresh = u32::try_from(self.specs.len()).unwrap_or(u32::MAX);
        let (bytes, locks) = (spec.bytes(), spec.locks.len());
        let at = *self.specs.entry((spec, definition)).or_insert(fresh);
        if at == fresh {
            self.bytes += bytes;
            self.lock_uses += locks;
        }
        at
    }

    fn share_work(&mut self, name: &str, work: &str) -> u32 {
        if work.len() > WORK_MAX {
            self.problems.push(PlanError::WorkTooLong(name.to_owned()));
        }
        let fresh = u32::try_from(self.works.len()).unwrap_or(u32::MAX);
        if let Some(known) = self.works.get(work) {
            return *known;
        }
        self.bytes += work.len();
        *self.works.entry(work.into()).or_insert(fresh)
    }

    /// Adds one step per cell, named `name[cell]`. Returns the join node, named `name`.
    pub fn matrix(
        &mut self,
        name: &str,
        cells: impl IntoIterator<Item = (String, StepSpec)>,
    ) -> StepIx {
        self.definitions += 1;
        let cells: Vec<StepIx> = cells
            .into_iter()
            .map(|(cell, spec)| self.cell(&format!("{name}[{cell}]"), spec, ""))
            .collect();
        self.join(name, &cells)
    }

    /// Like [`matrix`](Self::matrix), for many cells: all execute `work`; each has an index into `specs`.
    pub fn matrix_of(
        &mut self,
        name: &str,
        work: &str,
        specs: Vec<StepSpec>,
        cells: impl IntoIterator<Item = (String, usize)>,
    ) -> StepIx {
        self.definitions += 1;
        let work = self.share_work(name, work);
        let specs: Vec<u32> = specs.into_iter().map(|spec| self.share_spec(name, spec)).collect();
        let cells: Vec<StepIx> = cells
            .into_iter()
            .map(|(cell, spec)| self.node(format!("{name}[{cell}]").into(), specs[spec], work))
            .collect();
        self.join(name, &cells)
    }

    /// Adds the node that waits for all cells of a matrix.
    fn join(&mut self, name: &str, cells: &[StepIx]) -> StepIx {
        if cells.is_empty() {
            self.problems.push(PlanError::EmptyMatrix(name.to_owned()));
        }
        if cells.len() > CELLS_MAX {
            self.problems
                .push(PlanError::TooManyCells { name: name.to_owned(), cells: cells.len() });
        }
        let join = self.node(name.into(), JOIN, 0);
        self.needs.extend(cells.iter().map(|cell| (join, *cell, NeedKind::Required)));
        join
    }

    /// Makes `step` wait for `need`; a failure of `need` blocks it.
    pub fn needs(&mut self, step: StepIx, need: StepIx) {
        self.needs.push((step, need, NeedKind::Required));
    }

    /// Makes `step` wait for `need`; a failure of `need` does not block it.
    pub fn needs_optional(&mut self, step: StepIx, need: StepIx) {
        self.needs.push((step, need, NeedKind::Optional));
    }

    /// Sets the slots of the lock `name` (default: 1).
    pub fn lock_slots(&mut self, name: &str, slots: u32) {
        if slots == 0 {
            self.problems.push(PlanError::LockWithoutSlots(name.to_owned()));
        }
        let name = self.global_name(name);
        self.lock_slots.insert(name, slots);
    }

    /// Checks and freezes the plan, or returns all problems.
    pub fn build(mut self) -> Result<Plan, Vec<PlanError>> {
        self.check_sizes();
        self.check_names();
        if self.check_ends() {
            self.check_needs();
        }
        if !self.problems.is_empty() {
            self.problems.truncate(PROBLEMS_MAX);
            return Err(self.problems);
        }
        let graph = PlanGraph::new(self.names.len(), &self.needs);
        let order = match graph.order() {
            Ok(order) => order,
            Err(cycle) => {
                let names = cycle.iter().map(|at| self.names[*at as usize].to_string()).collect();
                return Err(vec![PlanError::Cycle(names)]);
            }
        };
        Ok(self.freeze(graph, &order))
    }

    fn freeze(self, graph: PlanGraph, order: &[u32]) -> Plan {
        let weights = critical_path_lengths(&graph, order, |at| self.spec_of[at as usize] != JOIN);
        let mut specs: Vec<StepSpec> = vec![StepSpec::default(); self.specs.len()];
        for ((spec, _), at) in self.specs {
            specs[at as usize] = spec;
        }
        let mut works: Vec<Arc<str>> = vec!["".into(); self.works.len()];
        for (work, at) in self.works {
            works[at as usize] = work;
        }
        let steps = self.spec_of.iter().filter(|spec| **spec != JOIN).count();
        let mut plan = Plan {
            pipeline: self.pipeline,
            steps: u32::try_from(steps).expect("checked against STEPS_MAX"),
            names: super::plan_type::NameTable::new(&self.names),
            spec_of: self.spec_of.into(),
            work_of: self.work_of.into(),
            specs: specs.into(),
            works: works.into(),
            graph,
            weights: weights.into(),
            lock_slots: self.lock_slots,
            fingerprint: PlanFingerprint::default(),
        };
        plan.fingerprint = PlanFingerprint::of(&plan);
        plan
    }

    fn node(&mut self, name: Box<str>, spec: u32, work: u32) -> StepIx {
        let at = StepIx(u32::try_from(self.names.len()).unwrap_or(u32::MAX));
        self.bytes += NODE_BYTES + name.len();
        self.names.push(name);
        self.spec_of.push(spec);
        self.work_of.push(work);
        at
    }

    /// Normalizes a spec: sorted locks and worker names, global names of locks and keys.
    fn check_spec(&mut self, name: &str, mut spec: StepSpec) -> StepSpec {
        for lock in &mut spec.locks {
            lock.name = self.global_name(&lock.name);
        }
        if let Some(idempotency) = &mut spec.idempotency {
            idempotency.key = self.global_name(&idempotency.key);
        }
        spec.locks.sort();
        for pair in spec.locks.windows(2).filter(|pair| pair[0].name == pair[1].name) {
            let lock = pair[0].name.to_string();
            self.problems.push(PlanError::LockTwice { step: name.to_owned(), lock });
        }
        for (what, count, max) in excess_lists(&spec) {
            self.problems.push(PlanError::TooMany {
                step: name.to_owned(),
                what: what.into(),
                count,
                max,
            });
        }
        if spec.retry.times > REPEATS_MAX || spec.retry.lost > REPEATS_MAX {
            self.problems.push(PlanError::TooManyRepeats(name.to_owned()));
        }
        if spec.per_worker == Some(0) {
            self.problems.push(PlanError::PerWorkerZero(name.to_owned()));
        }
        spec.placement.allow.sort();
        spec.placement.deny.sort();
        spec
    }

    fn global_name(&self, name: &str) -> Box<str> {
        match name.strip_prefix("./") {
            Some(own) => format!("{}/{own}", self.pipeline).into(),
            None => name.into(),
        }
    }

    fn check_sizes(&mut self) {
        let steps = self.spec_of.iter().filter(|spec| **spec != JOIN).count();
        if steps == 0 {
            self.problems.push(PlanError::Empty);
        }
        if steps > STEPS_MAX {
            self.problems.push(PlanError::TooManySteps(steps));
        }
        if self.needs.len() > EDGES_MAX {
            self.problems.push(PlanError::TooManyEdges(self.needs.len()));
        }
        if self.lock_uses > LOCK_USES_MAX {
            self.problems.push(PlanError::TooManyLocks(self.lock_uses));
        }
        let placements: BTreeSet<&Placement> =
            self.specs.keys().map(|(spec, _)| &spec.placement).collect();
        let demands = placements.into_iter().map(Placement::demand_count).sum();
        if demands > DEMANDS_MAX {
            self.problems.push(PlanError::TooManyDemands(demands));
        }
        let bytes = self.bytes + self.needs.len() * NEED_BYTES;
        if bytes > PLAN_BYTES_MAX {
            self.problems.push(PlanError::TooLarge(bytes));
        }
    }

    fn check_names(&mut self) {
        let mut sorted: Vec<&str> = self.names.iter().map(|name| &**name).collect();
        sorted.sort_unstable();
        let twice = sorted.windows(2).filter(|pair| pair[0] == pair[1]);
        let mut found: Vec<PlanError> =
            twice.map(|pair| PlanError::DuplicateName(pair[0].to_owned())).collect();
        found.dedup();
        let bad = self.names.iter().filter(|name| !is_name(name));
        found.extend(bad.map(|name| PlanError::BadName(name.to_string())));
        self.problems.append(&mut found);
    }

    /// Whether both nodes of every need exist.
    fn check_ends(&mut self) -> bool {
        let known = |node: &StepIx| (node.0 as usize) < self.names.len();
        let ends = self.needs.iter().flat_map(|(step, need, _)| [*step, *need]);
        let mut unknown: Vec<PlanError> =
            ends.filter(|node| !known(node)).map(PlanError::NoSuchNode).collect();
        unknown.dedup();
        let all_known = unknown.is_empty();
        self.problems.append(&mut unknown);
        all_known
    }

    fn check_needs(&mut self) {
        self.needs.sort_unstable();
        let name = |at: StepIx| self.names[at.0 as usize].to_string();
        let own = self.needs.iter().filter(|(step, need, _)| step == need);
        let mut found: Vec<PlanError> =
            own.map(|(step, ..)| PlanError::SelfNeed(name(*step))).collect();
        let twice =
            self.needs.windows(2).filter(|pair| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1));
        found.extend(
            twice.map(|pair| PlanError::DuplicateNeed {
                step: name(pair[0].0),
                need: name(pair[0].1),
            }),
        );
        let of_step = self.needs.chunk_by(|one, other| one.0 == other.0);
        let many = of_step.filter(|needs| needs.len() > NEEDS_MAX);
        let many = many.map(|needs| (needs[0].0, needs.len()));
        let of_steps = many.filter(|(step, _)| self.spec_of[step.0 as usize] != JOIN);
        found.extend(of_steps.map(|(step, count)| PlanError::TooMany {
            step: name(step),
            what: "needs".into(),
            count,
            max: NEEDS_MAX,
        }));
        self.problems.append(&mut found);
    }
}
