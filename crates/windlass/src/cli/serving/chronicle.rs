//! What a controller says of what goes on: a line for each thing that somebody may have to know.

use std::sync::Arc;

use windlass_core::engine::{CancelReason, EndedAs, Event, Next, Utc};
use windlass_core::id::{RunId, StepIx, WorkerId};
use windlass_core::outcome::OutcomeKind;
use windlass_core::time::Time;

use crate::cli::output;
use crate::cli::render::count;
use crate::controller::{Followed, Published, Views};
use crate::shutdown::Shutdown;

/// Follows what is durable and says what of it matters; every hand-out and outcome too if that is wanted.
#[derive(Debug)]
pub(super) struct Chronicle {
    pub(super) views: Arc<Views>,
    pub(super) verbose: bool,
}

impl Chronicle {
    /// Until it is told to end.
    pub(super) async fn run(self, mut shutdown: Shutdown) {
        let mut follower = self.views.follow(self.views.look(|view| view.position));
        loop {
            let news = tokio::select! {
                () = shutdown.wait() => return,
                news = follower.next() => news,
            };
            match news {
                Followed::Events(batches) => batches.iter().for_each(|batch| self.tell(batch)),
                // More than can be read: what is missing is in the journal.
                Followed::Behind(_) => follower.skip_to(self.views.look(|view| view.position)),
            }
        }
    }

    fn tell(&self, batch: &Published) {
        for (at, event) in &batch.events {
            if let Some(text) = self.words(event) {
                output::talk(&format!("{} {text}", clock(*at)));
            }
        }
    }

    fn words(&self, event: &Event) -> Option<String> {
        self.of_cluster(event).or_else(|| of_run(event)).or_else(|| self.of_lease(event))
    }

    fn of_cluster(&self, event: &Event) -> Option<String> {
        let name = |worker: &WorkerId| self.worker(*worker);
        match event {
            Event::WorkerRegistered { name, slots, .. } => {
                Some(format!("worker {name} joined, {slots} at a time"))
            }
            Event::WorkerLost { worker } => Some(format!(
                "worker {} is lost: it was not heard for a lease's time",
                name(worker)
            )),
            Event::WorkerReturned { worker } => Some(format!("worker {} is back", name(worker))),
            Event::WorkerDrained { worker } => {
                Some(format!("worker {} gets no more steps", name(worker)))
            }
            Event::WorkerEnded { worker, .. } => {
                Some(format!("worker {} has ended; nothing of its steps is left", name(worker)))
            }
            Event::Braked { late, of } => Some(format!(
                "{late} of {of} workers fell silent at once: they are given up little by little"
            )),
            _ => None,
        }
    }

    fn of_lease(&self, event: &Event) -> Option<String> {
        match event {
            Event::Granted { run, step, attempt, delivery, worker, fence, .. } if self.verbose => {
                let (step, worker) = (self.step(*run, *step), self.worker(*worker));
                Some(format!(
                    "run {run} {step} → {worker}, attempt {attempt}.{delivery}, lease {}",
                    fence.0
                ))
            }
            Event::Ended { run, step, fence, outcome, next, ended } => {
                let lost = outcome.kind == OutcomeKind::Lost || *ended == EndedAs::GivenUp;
                if !self.verbose && !lost {
                    return None;
                }
                let follows = match next {
                    Next::Done(_) => "",
                    Next::Retry { .. } => "; another attempt follows",
                    Next::Again { .. } => "; it is handed out again",
                };
                let step = self.step(*run, *step);
                Some(format!("run {run} {step}, lease {}: {}{follows}", fence.0, outcome.kind))
            }
            Event::LateOutcome { run, step, fence, outcome } => {
                let step = self.step(*run, *step);
                Some(format!("run {run} {step}, lease {}: {} came too late", fence.0, outcome.kind))
            }
            _ => None,
        }
    }

    fn worker(&self, worker: WorkerId) -> String {
        self.views.look(|view| {
            let mut workers = view.engine.workers();
            let known = workers.find(|it| it.id == worker);
            known.map_or_else(|| worker.to_string(), |it| it.name.into_owned())
        })
    }

    fn step(&self, run: RunId, step: StepIx) -> String {
        self.views.look(|view| {
            let known = view.engine.run(run).and_then(|run| run.steps(step).next());
            known.map_or_else(|| step.to_string(), |known| known.name.into_owned())
        })
    }
}

fn of_run(event: &Event) -> Option<String> {
    match event {
        Event::RunSubmitted { run, plan, .. } => {
            let steps = count(plan.step_count() as usize, "step", "steps");
            Some(format!("run {run} of {}: {steps}", plan.pipeline()))
        }
        Event::RunCancelled { run, reason, .. } => Some(match reason {
            CancelReason::Asked => format!("run {run} is cancelled"),
            CancelReason::Deadline => format!("run {run} is cancelled: its deadline passed"),
            CancelReason::Defect => {
                format!("run {run} is ended: deciding on it failed by a defect of windlass")
            }
        }),
        Event::RunEnded { run, status } => Some(format!("run {run} {status}")),
        _ => None,
    }
}

/// The time of day, as logs have it.
fn clock(at: Time) -> String {
    Utc(at).to_string().get(11..19).unwrap_or_default().to_owned()
}
