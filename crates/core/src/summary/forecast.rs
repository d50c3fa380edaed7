//! Estimates the remaining duration of a run.
//!
//! It schedules earlier durations, by name, on the available slots; the step with the longest critical path goes first, as
//! in the engine. Locks, requirements and retries are ignored: the estimate is for display and is updated every second.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::run_summary::RunSummary;
use crate::id::StepIx;
use crate::outcome::{OutcomeKind, RunStatus, StepStatus};
use crate::plan::Plan;
use crate::time::{Span, Time};

/// Earlier durations of steps, by name.
pub type StepDurations = BTreeMap<Box<str>, Span>;

/// Maximum remaining steps that are scheduled one by one, which takes about 2 ms. Beyond, the work is divided by slots.
const SCHEDULED_MAX: u32 = 10_000;
/// Minimum ended steps for an estimate without history.
const SAMPLES_MIN: u32 = 3;

/// The expected durations of the steps of a plan.
#[derive(Clone, Debug)]
pub struct RunForecast {
    /// Durations by node; `None` without history.
    expected: Box<[Option<Span>]>,
}

impl RunForecast {
    /// Creates a forecast from earlier durations. A new cell of a matrix gets the mean of the other cells.
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

    /// Returns the earlier duration of a step, or the mean of its matrix.
    pub fn expected(&self, step: StepIx) -> Option<Span> {
        self.expected.get(step.0 as usize).copied().flatten()
    }

    /// Returns the expected remaining duration; `None` if it cannot be estimated.
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

    /// Returns the expected duration of an unknown step: the mean of this run or of earlier ones.
    fn typical_duration(&self, summary: &RunSummary) -> Option<Span> {
        // Stopped or lost deliveries are not representative.
        let ran = [Some(OutcomeKind::Succeeded), Some(OutcomeKind::Failed)];
        let ended = summary.records.iter().filter(|record| ran.contains(&record.outcome));
        let took =
            ended.map(|record| record.ended_at.since(record.started_at.max(record.granted_at)));
        let here = mean(took).filter(|(_, count)| *count >= u64::from(SAMPLES_MIN));
        here.or_else(|| mean(self.expected.iter().flatten().copied())).map(|(mean, _)| mean)
    }
}

/// The remaining steps and the available slots.
struct RemainingWork<'a> {
    forecast: &'a RunForecast,
    summary: &'a RunSummary,
    usual: Span,
    now: Time,
    slots: usize,
}

impl RemainingWork<'_> {
    /// Simulates the rest: a free slot takes the ready step with the longest critical path.
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
                // Leased ahead: its worker runs it next.
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

    /// Returns the running steps. Of the leased steps without a reported start, the oldest leases run, up to the slots.
    fn running(&self) -> BTreeSet<StepIx> {
        let mut held: Vec<_> = self.summary.held().collect();
        held.sort_by_key(|step| {
            let ahead = step.status() != StepStatus::Running;
            (ahead, step.last_delivery().map(|last| last.fence))
        });
        held.iter().take(self.slots).map(super::step_summary::StepSummary::ix).collect()
    }

    /// Releases the steps that waited only for this node; joins end at once.
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

    /// Divides all work by the slots; at least the longest remaining step.
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

    /// Returns the remaining time of a running step. A step beyond its expected duration gets a tenth of its elapsed time,
    /// so that the estimate does not stay at zero.
    fn time_left(&self, step: StepIx) -> Span {
        let newest = self.summary.step(step).and_then(|step| step.last_delivery());
        let elapsed = newest.map_or(Span::ZERO, |newest| newest.time(self.now));
        self.expected_span(step).saturating_sub(elapsed).max(elapsed.divided_by(10))
    }
}

/// Returns the matrix name of a cell, or the name itself.
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

/// Returns the mean of spans and their number.
fn mean(spans: impl Iterator<Item = Span>) -> Option<(Span, u64)> {
    let (sum, count) = spans.fold((Span::ZERO, 0), |(sum, count), span| (sum + span, count + 1));
    (count > 0).then(|| (sum.divided_by(count), count))
}
