//! The decisions of maintenance: the effects that it requests, and the consequences of a failure or a late event.

use windlass_core::engine::{Event, RunOptions, RunProgress, event};
use windlass_core::id::{Fence, RunId, StepIx};
use windlass_core::maintenance::{
    Maintenance, MaintenanceEffect, MaintenanceObservation, MaintenanceOutcome, RetentionSettings,
};
use windlass_core::outcome::{Outcome, OutcomeKind, RunStatus};
use windlass_core::time::{Span, Time};

use crate::plan_sketch::PlanSketch;

const RUN: RunId = RunId(1);
const OTHER: RunId = RunId(2);
const START: Time = Time::from_millis(1_000_000);

/// A maintenance machine, with the journal that it learns from.
struct MaintenanceSetup {
    machine: Maintenance,
    position: u64,
    now: Time,
}

impl MaintenanceSetup {
    fn new(keeping: RetentionSettings) -> Self {
        Self { machine: Maintenance::new(keeping), position: 0, now: START }
    }

    fn happens(&mut self, event: &Event) {
        self.position += 1;
        self.machine.learn(self.position, self.now, event);
    }

    fn ends(&mut self, run: RunId) {
        let plan = PlanSketch::draw("ship", |plan| plan.plain("build", []));
        let options = RunOptions::default();
        self.happens(&Event::RunSubmitted(event::RunSubmitted {
            run,
            plan,
            options,
            reused: Vec::new(),
        }));
        self.happens(&Event::RunEnded(event::RunEnded { run, status: RunStatus::Succeeded }));
    }

    /// The run, which was interrupted and sealed, continues.
    fn resumes(&mut self, run: RunId) {
        let plan = PlanSketch::draw("ship", |plan| plan.plain("build", []));
        let progress = RunProgress {
            submitted_at: START,
            interrupted_at: self.now,
            failed: None,
            superseded: false,
            steps: Vec::new(),
        };
        let options = RunOptions::default();
        self.happens(&Event::RunResumed(event::RunResumed { run, plan, options, progress }));
    }

    fn late_outcome(&mut self, run: RunId) {
        let (step, fence) = (StepIx(0), Fence::default());
        let outcome = Outcome::plain(OutcomeKind::Failed);
        self.happens(&Event::LateOutcome(event::LateOutcome { run, step, fence, outcome }));
    }

    fn seen(&self) -> MaintenanceObservation {
        MaintenanceObservation { now: self.now, leads: true, view: self.position, nodes: 0 }
    }

    fn tick(&mut self) -> Vec<MaintenanceEffect> {
        self.now = self.now + Span::secs(1);
        self.machine.tick(&self.seen())
    }

    fn done(&mut self, effect: MaintenanceEffect, position: u64) -> Vec<MaintenanceEffect> {
        let seen = self.seen();
        self.machine.finished(effect, MaintenanceOutcome::Done(position), &seen)
    }

    fn fails(&mut self, effect: MaintenanceEffect) -> Vec<MaintenanceEffect> {
        let seen = self.seen();
        self.machine.finished(effect, MaintenanceOutcome::Failed, &seen)
    }
}

const ARCHIVE: MaintenanceEffect = MaintenanceEffect::WriteArchive(RUN);
const SEAL: MaintenanceEffect = MaintenanceEffect::Seal(RUN);

fn at_once() -> RetentionSettings {
    RetentionSettings { seal_after: Span::ZERO, snapshot_after: 1, ..RetentionSettings::default() }
}

#[test]
fn a_run_is_sealed_after_the_archive_has_it_and_each_effect_is_in_flight_once() {
    let mut story = MaintenanceSetup::new(at_once());
    story.ends(RUN);
    assert!(story.tick().contains(&ARCHIVE));
    assert!(!story.tick().iter().any(|effect| [ARCHIVE, SEAL].contains(effect)));
    assert_eq!(story.done(ARCHIVE, 2), [SEAL]);
    assert_eq!(story.tick(), [], "every effect that there is to do is in flight");
    assert_eq!(story.done(SEAL, 0), [], "its event is on its way");
    story.happens(&Event::RunSealed(event::RunSealed { run: RUN }));
    assert_eq!(story.machine.take_settled(), [RUN]);
}

#[test]
fn an_effect_that_failed_is_repeated_at_the_next_tick_and_not_before() {
    let mut story = MaintenanceSetup::new(at_once());
    story.ends(RUN);
    story.tick();
    assert_eq!(story.fails(ARCHIVE), []);
    assert_eq!(story.tick(), [ARCHIVE]);
    assert_eq!(story.done(ARCHIVE, 2), [SEAL]);
    assert_eq!(story.fails(SEAL), []);
    assert_eq!(story.tick(), [SEAL], "the archive has it already");
}

#[test]
fn event_between_archiving_and_sealing_is_archived_before_it_is_pruned() {
    let mut story = MaintenanceSetup::new(at_once());
    story.ends(RUN);
    story.tick();
    story.done(MaintenanceEffect::FindSnapshot, 0);
    story.done(ARCHIVE, 2);
    story.late_outcome(RUN);
    story.done(SEAL, 0);
    story.happens(&Event::RunSealed(event::RunSealed { run: RUN }));
    assert_eq!(story.machine.take_settled(), [], "the archive lacks the late outcome");
    assert_eq!(story.tick(), [ARCHIVE, MaintenanceEffect::SaveSnapshot]);
    story.done(MaintenanceEffect::SaveSnapshot, 4);
    assert_eq!(story.tick(), [], "nothing is pruned that a run needs");
    story.done(ARCHIVE, 3);
    assert_eq!(story.machine.take_settled(), [RUN]);
    assert_eq!(story.tick(), [MaintenanceEffect::PruneBefore(4)]);
}

#[test]
fn answer_to_a_sealing_says_nothing_about_a_run_that_was_resumed_since_then() {
    let mut story = MaintenanceSetup::new(at_once());
    story.ends(RUN);
    story.tick();
    assert_eq!(story.done(ARCHIVE, 2), [SEAL]);
    story.happens(&Event::RunSealed(event::RunSealed { run: RUN }));
    story.resumes(RUN);
    story.done(SEAL, 0);
    story.happens(&Event::RunEnded(event::RunEnded { run: RUN, status: RunStatus::Succeeded }));
    assert!(story.tick().contains(&ARCHIVE), "it has ended again, and is not sealed yet");
}

#[test]
fn an_event_that_comes_while_the_archive_is_written_is_archived_before_sealing() {
    let mut story = MaintenanceSetup::new(at_once());
    story.ends(RUN);
    story.tick();
    story.late_outcome(RUN);
    assert_eq!(story.done(ARCHIVE, 2), [ARCHIVE]);
    assert_eq!(story.done(ARCHIVE, 3), [SEAL]);
}

#[test]
fn pruning_stops_before_the_first_unsealed_run_despite_later_snapshots() {
    let mut story = MaintenanceSetup::new(RetentionSettings {
        snapshot_after: 1,
        ..RetentionSettings::default()
    });
    story.ends(RUN);
    story.happens(&Event::RunSealed(event::RunSealed { run: RUN }));
    story.ends(OTHER);
    assert!(story.tick().contains(&MaintenanceEffect::FindSnapshot));
    assert_eq!(story.done(MaintenanceEffect::FindSnapshot, 5), []);
    let prune = MaintenanceEffect::PruneBefore(3);
    assert_eq!(story.tick(), [prune]);
    assert_eq!(story.done(prune, 1), [prune], "a call removes a part; the next one goes on");
    assert_eq!(story.done(prune, 1), [], "the store holds the rest back");
}

#[test]
fn pruning_stops_at_the_last_learnt_event_despite_a_later_snapshot() {
    let mut story = MaintenanceSetup::new(at_once());
    story.ends(RUN);
    story.happens(&Event::RunSealed(event::RunSealed { run: RUN }));
    story.tick();
    assert_eq!(story.done(MaintenanceEffect::FindSnapshot, 9), []);
    assert_eq!(story.tick(), [MaintenanceEffect::PruneBefore(3)], "event 4 may be a submission");
}

#[test]
fn a_node_that_does_not_lead_requests_nothing() {
    let mut story = MaintenanceSetup::new(at_once());
    story.ends(RUN);
    let seen = MaintenanceObservation { leads: false, ..story.seen() };
    assert_eq!(story.machine.tick(&seen), []);
    assert!(story.tick().contains(&ARCHIVE), "until it leads");
}
