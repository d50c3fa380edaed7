//! How long the rest of a run will take.
//!
//! Earlier durations, by name, are scheduled on the slots there are: whoever has the longest way behind it goes first, as
//! in the engine. Locks, requirements and retries are left out: this is a guess for people, and it is made every second.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::run_summary::RunSummary;
use crate::id::StepIx;
use crate::outcome::{OutcomeKind, RunStatus, StepStatus};
use crate::plan::Plan;
use crate::time::{Span, Time};

/// How long steps took before, by name.
pub type StepDurations = BTreeMap<Box<str>, Span>;

/// Up to so many remaining steps are scheduled one by one; beyond, work is divided by slots. Scheduling this many takes
/// about 2 ms.
const SCHEDULED_MAX: u32 = 10_000;
/// Steps that must have ended before a run without history says anything about its own rest.
const SAMPLES_MIN: u32 = 3;

/// What is expected of each step of a plan.
#[derive(Clone, Debug)]
pub struct RunForecast {
    /// By node; `None`: nothing like it was seen.
    expected: Box<[Option<Span>]>,
}

impl RunForecast {
    /// Expects what was before. A cell of a matrix that is new is expected to take as long as the others did.
    pub fn new(plan: &Plan, earlier: &StepDurations) -> Self {
        let families = mean_by_matrix(earlier);
        let expect = |node: StepIx| {
            let name = plan.name(node);
            let own = earlier.get(name).copied();
            own.or_else(|| {
                families.get(matrix_name(name)).map(|(sum, count)| sum.divided_by(*count))
            })
        };
        Self { expected: plan.nodes().map(expect).collect() }
    }

    /// How long a step took before, or others of its matrix did.
    pub fn expected(&self, step: StepIx) -> Option<Span> {
        self.expected.get(step.0 as usize).copied().flatten()
    }

    /// How long the run will go on; `None` if that is anybody's guess.
    pub fn remaining(&self, summary: &RunSummary, now: Time, slots: u32) -> Option<Span> {
        let tally = summary.status_counts();
        let left = tally.total() - tally.ended();
        let failing = tally.of(StepStatus::Failed) + tally.of(StepStatus::TimedOut) > 0;
        let stops = failing && !summary.options().keep_going;
        if left == 0 || summary.status() != RunStatus::Running || stops {
            return None;
        }
        let usual = self.typical_duration(summary)?;
        let bench =
            RemainingWork { forecast: self, summary, usual, now, slots: slots.max(1) as usize };
        Some(if left > SCHEDULED_MAX { bench.divide_by_slots() } else { bench.schedule() })
    }

    /// What a step takes of which nothing is known: as long as others in this run, or in earlier ones.
    fn typical_duration(&self, summary: &RunSummary) -> Option<Span> {
        // What was stopped or lost says nothing about how long it takes.
        let ran = [Some(OutcomeKind::Succeeded), Some(OutcomeKind::Failed)];
        let ended = summary.records.iter().filter(|record| ran.contains(&record.outcome));
        let took =
            ended.map(|record| record.ended_at.since(record.started_at.max(record.granted_at)));
        let here = mean(took).filter(|(_, count)| *count >= u64::from(SAMPLES_MIN));
        here.or_else(|| mean(self.expected.iter().flatten().copied())).map(|(mean, _)| mean)
    }
}

/// The steps that are left, and who could do them.
struct RemainingWork<'a> {
    forecast: &'a RunForecast,
    summary: &'a RunSummary,
    usual: Span,
    now: Time,
    slots: usize,
}

impl RemainingWork<'_> {
    /// Plays the rest: a slot that becomes free takes the ready step with the longest way behind it.
    fn schedule(&self) -> Span {
        let plan = self.summary.plan();
        let mut remaining: BTreeMap<StepIx, u32> = BTreeMap::new();
        let mut ready: BinaryHeap<(u32, Reverse<StepIx>)> = BinaryHeap::new();
        let mut busy: BinaryHeap<Reverse<(Span, StepIx)>> = BinaryHeap::new();
        let running = self.running();
        for step in self.summary.steps().filter(|step| !step.status().is_terminal()) {
            if running.contains(&step.ix()) {
                busy.push(Reverse((self.time_left(step.ix()), step.ix())));
            } else if step.status().is_held() {
                // A lease ahead: its worker takes it before anything else.
                ready.push((u32::MAX, Reverse(step.ix())));
            } else if step.ready_at().is_some() {
                ready.push((plan.critical_path_length(step.ix()), Reverse(step.ix())));
            }
        }
        let mut clock = Span::ZERO;
        loop {
            while busy.len() < self.slots
                && let Some((_, Reverse(step))) = ready.pop()
            {
                busy.push(Reverse((clock + self.expected_span(step), step)));
            }
            let Some(Reverse((end, step))) = busy.pop() else {
                return clock;
            };
            clock = clock.max(end);
            self.release(step, &mut remaining, |node| {
                ready.push((plan.critical_path_length(node), Reverse(node)));
            });
        }
    }

    /// The steps that run. Of those that have not said that they started the oldest leases do, as many as there are slots.
    fn running(&self) -> BTreeSet<StepIx> {
        let mut held: Vec<_> = self.summary.held().collect();
        held.sort_by_key(|step| {
            let ahead = step.status() != StepStatus::Running;
            (ahead, step.last_delivery().map(|last| last.fence))
        });
        held.iter().take(self.slots).map(super::step_summary::StepSummary::ix).collect()
    }

    /// What waited for this node alone is ready; joins end at once.
    fn release(
        &self,
        ended: StepIx,
        remaining: &mut BTreeMap<StepIx, u32>,
        mut ready: impl FnMut(StepIx),
    ) {
        let plan = self.summary.plan();
        let mut ended = vec![ended];
        while let Some(node) = ended.pop() {
            for dependent in plan.dependents(node).iter().map(|edge| edge.step()) {
                let state = &self.summary.nodes[dependent.0 as usize];
                let left = remaining.entry(dependent).or_insert(state.remaining);
                *left = left.saturating_sub(1);
                if *left > 0 || state.status.is_terminal() {
                    continue;
                }
                if plan.is_join(dependent) {
                    ended.push(dependent);
                } else {
                    ready(dependent);
                }
            }
        }
    }

    /// All work over all slots, and no less than the longest step that runs.
    fn divide_by_slots(&self) -> Span {
        let mut work = Span::ZERO;
        let mut longest = Span::ZERO;
        for step in self.summary.steps().filter(|step| !step.status().is_terminal()) {
            let held = step.status().is_held();
            let rest = if held { self.time_left(step.ix()) } else { self.expected_span(step.ix()) };
            work = work + rest;
            longest = longest.max(rest);
        }
        work.divided_by(self.slots as u64).max(longest)
    }

    fn expected_span(&self, step: StepIx) -> Span {
        self.forecast.expected[step.0 as usize].unwrap_or(self.usual)
    }

    /// What is left of a step that runs. One that takes longer than ever is thought to need a tenth of its time more:
    /// "nothing left" would be said again and again.
    fn time_left(&self, step: StepIx) -> Span {
        let newest = self.summary.step(step).and_then(|step| step.last_delivery());
        let elapsed = newest.map_or(Span::ZERO, |newest| newest.time(self.now));
        self.expected_span(step).saturating_sub(elapsed).max(elapsed.divided_by(10))
    }
}

/// The matrix that a step's name says it is a cell of, or the name itself.
fn matrix_name(name: &str) -> &str {
    name.split('[').next().unwrap_or(name)
}

fn mean_by_matrix(earlier: &StepDurations) -> BTreeMap<&str, (Span, u64)> {
    let mut families: BTreeMap<&str, (Span, u64)> = BTreeMap::new();
    for (name, took) in earlier {
        let (sum, count) = families.entry(matrix_name(name)).or_default();
        *sum = *sum + *took;
        *count += 1;
    }
    families
}

/// The mean of some spans, and how many there were.
fn mean(spans: impl Iterator<Item = Span>) -> Option<(Span, u64)> {
    let (sum, count) = spans.fold((Span::ZERO, 0), |(sum, count), span| (sum + span, count + 1));
    (count > 0).then(|| (sum.divided_by(count), count))
}
