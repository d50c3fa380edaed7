//! Runs the maintenance of each node that may lead.

use std::collections::BTreeSet;

use windlass_core::engine::{
    Engine, EngineAnswer, EngineConfig, EngineRequest, Event, RequestDenial, event,
};
use windlass_core::id::{RunId, Term};
use windlass_core::maintenance::{
    Maintenance, MaintenanceEffect, MaintenanceObservation, MaintenanceOutcome, RetentionSettings,
};
use windlass_core::planted_bugs::PlantedBugs;
use windlass_core::time::{Span, Time};

use super::store::{MaintenanceStore, SavedState, StoreChange, events_of, index};
use crate::sim::journal::SimRecord;
use crate::sim::leader::SimLeadership;
use crate::sim::link::UplinkMessage;
use crate::sim::rng::SimRng;
use crate::sim::schedule::{FaultKind, Schedule};
use crate::sim::witness::BrokenRule;
use crate::sim::world::{SimEvent, SimWorld};

/// How long maintenance may continue when everything else is over, so that pruning can finish.
const MAINTENANCE_FINISH_LIMIT: u64 = 20_000;

/// The maintenance of all nodes, with a random source of its own. It affects the rest of a schedule by sealing only.
pub(crate) struct MaintenanceModel {
    rng: SimRng,
    /// `None` in half of the schedules: they seal no run.
    keeping: Option<RetentionSettings>,
    pub(crate) store: MaintenanceStore,
    nodes: Vec<MaintenanceNode>,
    /// A counter that grows with each rollback. Requests on their way to the store at that time are lost.
    epoch: u32,
    /// The term of the last rollback. A node that led before it ends with what it knows. Its leader, which may not have
    /// seen the rollback yet, is not asked.
    rolled_back: Term,
    sealed: BTreeSet<RunId>,
    /// When the last run was sealed.
    sealed_at: u64,
}

/// The maintenance of one node.
#[derive(Default)]
struct MaintenanceNode {
    machine: Option<Maintenance>,
    /// A counter that grows with each new machine: outcomes for the last one are not for this one.
    incarnation: u32,
    /// The events that the machine has learned or skipped.
    learnt: u64,
    /// The events that had left the journal when the machine would have learned them.
    skipped: u64,
    /// The run that the leader has been asked to seal.
    sealing: Option<RunId>,
}

/// An event of maintenance. All but a tick concern one machine.
#[derive(Clone, Debug)]
pub(crate) enum SimMaintenanceEvent {
    Tick,
    AskLeader(u32, RunId),
    Apply {
        incarnation: u32,
        epoch: u32,
        effect: MaintenanceEffect,
        change: StoreChange,
        fate: SimEffectOutcome,
    },
    Finish(u32, MaintenanceEffect, MaintenanceOutcome),
}

/// The outcome of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SimEffectOutcome {
    Done,
    /// It takes effect, and the node does not learn of it.
    Unknown,
    Fails,
}

impl MaintenanceModel {
    pub(crate) fn new(schedule: &Schedule) -> Self {
        let mut rng = SimRng::new(schedule.seed ^ 0x6b65_6570_6572);
        let ttl = Span::millis(schedule.ttls.iter().copied().max().unwrap_or_default());
        let keeping = rng.chance(500).then(|| RetentionSettings {
            seal_after: ttl,
            seal_early: ttl,
            ended_steps: rng.pick(&[0, 250_000]),
            snapshot_after: rng.pick(&[1, 40, 150, 600]),
            ..RetentionSettings::default()
        });
        let nodes = schedule.leaders.iter().map(|_| MaintenanceNode::default()).collect();
        let (store, sealed) = (MaintenanceStore::default(), BTreeSet::new());
        let rolled_back = Term::default();
        Self { rng, keeping, store, nodes, epoch: 0, rolled_back, sealed, sealed_at: 0 }
    }

    pub(crate) const fn is_on(&self) -> bool {
        self.keeping.is_some()
    }

    /// Ends the node's process, and with it everything that its machine knew.
    pub(crate) fn crashes(&mut self, leader: usize) {
        let node = &mut self.nodes[leader];
        *node = MaintenanceNode { incarnation: node.incarnation + 1, ..MaintenanceNode::default() };
    }

    pub(crate) fn rolled_back(&mut self, records: &[SimRecord], term: Term) {
        (self.epoch, self.rolled_back) = (self.epoch + 1, term);
        for leader in 0..self.nodes.len() {
            self.crashes(leader);
        }
        self.store.rolled_back(records);
        let sealed = records.iter().filter_map(|record| sealed_run(&record.event));
        self.sealed = sealed.collect();
    }

    pub(crate) fn run_sealed(&mut self, run: RunId, now: u64) {
        self.sealed.insert(run);
        self.sealed_at = now;
    }

    pub(crate) fn run_resumed(&mut self, run: RunId) {
        self.sealed.remove(&run);
    }

    pub(crate) fn is_sealed(&self, run: RunId) -> bool {
        self.sealed.contains(&run)
    }

    /// Returns whether every run is sealed, and pruning has had its time.
    pub(crate) fn is_over(&self, runs: usize, now: u64) -> bool {
        !self.is_on()
            || self.sealed.len() == runs && now >= self.sealed_at + MAINTENANCE_FINISH_LIMIT
    }

    /// Has the node learn some or all durable events. It skips those that have left the journal.
    fn fold_new_events(&mut self, leader: usize, records: &[SimRecord], bugs: PlantedBugs) {
        let Some(keeping) = self.keeping else { return };
        let part = self.rng.chance(300).then(|| self.rng.range(0, 40));
        let node = &mut self.nodes[leader];
        let fresh = || Maintenance::new(keeping).with_bugs(bugs);
        let machine = node.machine.get_or_insert_with(fresh);
        let pruned = self.store.pruned();
        if node.learnt < pruned {
            machine.forget(pruned);
            (node.learnt, node.skipped) = (pruned, pruned);
        }
        let head = records.len() as u64;
        let upto = part.map_or(head, |part| head.min(node.learnt + part));
        let fresh = records.iter().take(index(upto)).skip(index(node.learnt));
        for (position, record) in (node.learnt + 1..).zip(fresh) {
            machine.learn(position, record.at, &record.event);
        }
        node.learnt = upto;
    }

    /// Checks that runs which the machine calls settled are in the archive.
    fn settled_is_archived(
        &mut self,
        leader: usize,
        records: &[SimRecord],
    ) -> Result<(), BrokenRule> {
        let Some(machine) = &mut self.nodes[leader].machine else { return Ok(()) };
        let settled = machine.take_settled();
        settled.into_iter().try_for_each(|run| self.store.is_settled(run, records))
    }

    /// Returns every event of a run that the node has gathered, with those that the archive has from before; none if it
    /// lacks some of them.
    fn history(&self, leader: usize, run: RunId, records: &[SimRecord]) -> Vec<u64> {
        let node = &self.nodes[leader];
        let events = events_of(run, &records[..index(node.learnt)]);
        let begins = events.first().is_some_and(|first| *first > node.skipped);
        let archived = self.store.has_all(run, events.iter().filter(|at| **at <= node.skipped));
        if begins || archived { events } else { Vec::new() }
    }
}

pub(crate) const fn sealed_run(event: &Event) -> Option<RunId> {
    if let Event::RunSealed(event::RunSealed { run }) = event { Some(*run) } else { None }
}

impl SimWorld<'_> {
    pub(crate) fn maintenance_begins(&mut self) {
        for leader in 0..self.leaders.len() {
            if self.maintenance.is_on() {
                self.at(500, SimEvent::Maintenance(leader, SimMaintenanceEvent::Tick));
            }
        }
    }

    pub(crate) fn handle_maintenance_event(&mut self, leader: usize, event: SimMaintenanceEvent) {
        match event {
            SimMaintenanceEvent::Tick => self.maintenance_ticks(leader),
            SimMaintenanceEvent::AskLeader(incarnation, run) => {
                // It asks the leader of its own process, and ends with it.
                let is_there = incarnation == self.maintenance.nodes[leader].incarnation;
                if is_there && self.maintained_lead(leader).is_some() {
                    self.leader_receives(
                        leader,
                        UplinkMessage::Maintenance(incarnation, EngineRequest::Seal { run }),
                    );
                }
            }
            SimMaintenanceEvent::Apply { incarnation, epoch, effect, change, fate } => {
                if epoch == self.maintenance.epoch {
                    let outcome = self.maintenance_changes(leader, change, fate);
                    let delay = self.maintenance.rng.range(1, 300);
                    let finish = SimMaintenanceEvent::Finish(incarnation, effect, outcome);
                    self.at(self.now + delay, SimEvent::Maintenance(leader, finish));
                }
            }
            SimMaintenanceEvent::Finish(incarnation, effect, outcome) => {
                if incarnation == self.maintenance.nodes[leader].incarnation {
                    self.maintenance_finishes(leader, effect, outcome);
                }
            }
        }
    }

    fn maintenance_ticks(&mut self, leader: usize) {
        let pause = self.maintenance.rng.range(800, 2_500);
        self.at(self.now + pause, SimEvent::Maintenance(leader, SimMaintenanceEvent::Tick));
        if !self.leaders[leader].up {
            return;
        }
        self.maintenance.fold_new_events(leader, &self.journal.records, self.bugs);
        let seen = self.maintenance_observes(leader);
        let pruned = self.maintenance.store.pruned();
        let Some(machine) = &mut self.maintenance.nodes[leader].machine else { return };
        if !seen.leads && machine.has_incomplete_archives() {
            machine.forget(pruned);
        }
        let effects = machine.tick(&seen);
        self.maintenance_starts(leader, effects);
    }

    fn maintenance_observes(&self, leader: usize) -> MaintenanceObservation {
        let lead = self.maintained_lead(leader);
        let local = self.leaders[leader].clock.local(self.now);
        let now = lead.map_or(Time::ZERO, |lead| lead.journal_now(local));
        // The plans of a schedule are large compared with its journal: a snapshot would hardly ever be worth its cost.
        let (view, nodes) = (self.journal.records.len() as u64, 0);
        MaintenanceObservation { now, leads: lead.is_some(), view, nodes }
    }

    /// Returns the state of a node that leads the current history.
    fn maintained_lead(&self, leader: usize) -> Option<&SimLeadership> {
        let lead = self.leaders[leader].lead.as_ref();
        lead.filter(|lead| lead.machine.term() > self.maintenance.rolled_back)
    }

    fn maintenance_starts(&mut self, leader: usize, effects: Vec<MaintenanceEffect>) {
        let incarnation = self.maintenance.nodes[leader].incarnation;
        for effect in effects {
            let change = match effect {
                MaintenanceEffect::Seal(run) => {
                    self.request_seal(leader, run);
                    continue;
                }
                MaintenanceEffect::WriteArchive(run) => StoreChange::Archive(
                    run,
                    self.maintenance.history(leader, run, &self.journal.records),
                ),
                MaintenanceEffect::FindSnapshot => StoreChange::Find,
                MaintenanceEffect::SaveSnapshot => {
                    StoreChange::Save(self.rebuild().and_then(|engine| self.saved(&engine)))
                }
                MaintenanceEffect::PruneBefore(upto) => StoreChange::Prune(upto),
                MaintenanceEffect::DeleteExpired => StoreChange::Delete,
            };
            let (delay, fate) = self.maintenance_fate();
            let epoch = self.maintenance.epoch;
            let apply = SimMaintenanceEvent::Apply { incarnation, epoch, effect, change, fate };
            self.at(self.now + delay, SimEvent::Maintenance(leader, apply));
        }
    }

    fn saved(&self, engine: &Engine) -> Option<SavedState> {
        SavedState::of(engine, &self.journal.records)
    }

    /// Returns how long an effect takes, and its outcome.
    fn maintenance_fate(&mut self) -> (u64, SimEffectOutcome) {
        let rng = &mut self.maintenance.rng;
        let delay = if rng.chance(60) { rng.range(3_000, 12_000) } else { rng.range(1, 400) };
        let fate = rng.pick(&[
            SimEffectOutcome::Done,
            SimEffectOutcome::Done,
            SimEffectOutcome::Done,
            SimEffectOutcome::Unknown,
            SimEffectOutcome::Fails,
        ]);
        if self.is_healed() { (delay.min(400), SimEffectOutcome::Done) } else { (delay, fate) }
    }

    /// Asks the leader to seal a run, which it makes durable like any request. Without an answer in time the outcome is
    /// not known.
    fn request_seal(&mut self, leader: usize, run: RunId) {
        let node = &mut self.maintenance.nodes[leader];
        node.sealing = Some(run);
        let incarnation = node.incarnation;
        let (delay, _) = self.maintenance_fate();
        let ask = SimMaintenanceEvent::AskLeader(incarnation, run);
        self.at(self.now + delay, SimEvent::Maintenance(leader, ask));
        let patience = self.maintenance.rng.range(2_000, 10_000);
        let failed = SimMaintenanceEvent::Finish(
            incarnation,
            MaintenanceEffect::Seal(run),
            MaintenanceOutcome::Failed,
        );
        self.at(self.now + delay + patience, SimEvent::Maintenance(leader, failed));
    }

    pub(crate) fn seal_is_answered(
        &mut self,
        leader: usize,
        incarnation: u32,
        answer: Option<&EngineAnswer>,
    ) {
        let Some(run) = self.maintenance.nodes[leader].sealing else { return };
        let outcome = match answer {
            Some(EngineAnswer::Done | EngineAnswer::Denied(RequestDenial::NoSuchRun(_))) => {
                MaintenanceOutcome::Done(0)
            }
            Some(_) | None => MaintenanceOutcome::Failed,
        };
        let finish =
            SimMaintenanceEvent::Finish(incarnation, MaintenanceEffect::Seal(run), outcome);
        self.at(self.now + 1, SimEvent::Maintenance(leader, finish));
    }

    fn maintenance_changes(
        &mut self,
        leader: usize,
        change: StoreChange,
        fate: SimEffectOutcome,
    ) -> MaintenanceOutcome {
        let away =
            self.journal.active_faults.iter().any(|ill| matches!(ill, FaultKind::JournalDown));
        if fate == SimEffectOutcome::Fails
            || away
            || self.leaders[leader].store_cut_until > self.now
        {
            return MaintenanceOutcome::Failed;
        }
        if matches!(&change, StoreChange::Archive(_, events) if events.is_empty()) {
            return MaintenanceOutcome::Failed;
        }
        if let StoreChange::Archive(run, _) = change
            && self.maintenance.is_sealed(run)
        {
            self.marks.hit("sealed run archived again");
        }
        let before = self.maintenance.store.pruned();
        let made = match self.maintenance.store.make(change, &self.journal.records) {
            Ok(made) => made,
            Err(broken) => {
                self.check(Err(broken));
                None
            }
        };
        if self.maintenance.store.pruned() > before {
            self.marks.hit("journal pruned");
        }
        match made {
            Some(_) if fate == SimEffectOutcome::Unknown => {
                self.marks.hit("effect of maintenance without an answer");
                MaintenanceOutcome::Failed
            }
            Some(position) => MaintenanceOutcome::Done(position),
            None => MaintenanceOutcome::Failed,
        }
    }

    fn maintenance_finishes(
        &mut self,
        leader: usize,
        effect: MaintenanceEffect,
        outcome: MaintenanceOutcome,
    ) {
        let node = &mut self.maintenance.nodes[leader];
        if let MaintenanceEffect::Seal(run) = effect {
            // The request has timed out, or has been answered.
            if node.sealing != Some(run) {
                return;
            }
            node.sealing = None;
        }
        if !self.is_healed() && self.maintenance.rng.chance(30) {
            self.marks.hit("maintenance began anew between two effects");
            return self.maintenance.crashes(leader);
        }
        self.maintenance.fold_new_events(leader, &self.journal.records, self.bugs);
        let seen = self.maintenance_observes(leader);
        let Some(machine) = &mut self.maintenance.nodes[leader].machine else { return };
        let effects = machine.finished(effect, outcome, &seen);
        let settled = self.maintenance.settled_is_archived(leader, &self.journal.records);
        self.check(settled);
        self.maintenance_starts(leader, effects);
    }

    /// Returns an engine rebuilt as at a start: from a snapshot, not always the newest, and the journal behind it.
    pub(crate) fn rebuild(&mut self) -> Option<Engine> {
        let (mut engine, begins) = self.restored()?;
        if begins < index(self.maintenance.store.pruned()) {
            self.fail("M3 start", format!("events behind {begins} have left the journal"));
            return None;
        }
        let mut error = None;
        for record in &self.journal.records[begins..] {
            if let Err(found) = engine.apply(record.at, &record.event) {
                error.get_or_insert(format!("{found}: {:?}", record.event));
            }
        }
        if let Some(error) = error {
            self.fail("I16 log", format!("the journal does not replay: {error}"));
            return None;
        }
        Some(engine)
    }

    /// Returns the state that a start begins with, and how many events it contains.
    fn restored(&mut self) -> Option<(Engine, usize)> {
        let damaged = self.maintenance.is_on() && self.maintenance.rng.chance(200);
        let (store, records) = (&self.maintenance.store, &self.journal.records);
        let usable = if damaged { store.oldest(records) } else { store.newest(records) };
        let Some(saved) = usable else { return Some((self.fresh_engine(), 0)) };
        let (restored, position) = (saved.restored(self.engine_config()), saved.position);
        self.marks.hit("start from a snapshot");
        match restored {
            Ok(engine) => Some((engine, index(position))),
            Err(error) => {
                self.fail("M3 start", format!("a snapshot cannot be read: {error}"));
                None
            }
        }
    }

    fn engine_config(&self) -> EngineConfig {
        let (bugs, same_host_workers) = (self.bugs, self.schedule.is_folder());
        EngineConfig { bugs, same_host_workers, ..EngineConfig::default() }
    }

    fn fresh_engine(&self) -> Engine {
        Engine::new(self.engine_config())
    }

    /// Returns an engine that applied every event that ever existed, also those that have left the journal.
    pub(crate) fn folded(&self) -> Result<Engine, String> {
        let mut engine = self.fresh_engine();
        for record in &self.journal.records {
            let applied = engine.apply(record.at, &record.event);
            applied.map_err(|error| format!("{error}: {:?}", record.event))?;
        }
        Ok(engine)
    }
}
