//! The complete durable state as text. A replayed journal must produce exactly the same text.

use std::fmt::{self, Write as _};

use super::idempotency_keys::IdempotencyKeyReport;
use crate::access::{AuditEntry, NewToken, TokenRecord, WorkerCredential};
use crate::engine::queue::lock::Lock;
use crate::engine::state::engine::Engine;
use crate::engine::state::lease::Lease;
use crate::engine::state::run::Run;
use crate::engine::state::worker::Worker;
use crate::id::StepIx;
use crate::outcome::StepStatus;

impl Engine {
    /// Returns the durable state, one item per line. Two engines that folded the same journal print the same.
    pub fn dump(&self) -> String {
        let mut text = String::new();
        self.write_dump(&mut text).expect("writing to a string cannot fail");
        text
    }

    /// Returns the snapshot and all derived state, for comparing two engines that folded the same journal. The text is
    /// too long to read; the simulator searches it for differences.
    pub fn dump_details(&self) -> String {
        let mut text = self.dump();
        self.write_details(&mut text).expect("writing to a string cannot fail");
        text
    }

    fn write_details(&self, text: &mut String) -> fmt::Result {
        writeln!(
            text,
            "generation {} {:?} own {:?} met {} runs {}",
            self.generation, self.embargo, self.own, self.met_others, self.runs_seen
        )?;
        for run in self.run_ids.values().map(|run| &self.runs[*run]) {
            let Run {
                id, order, options, open, failed, superseded, cancel, presence, origin, ..
            } = run;
            let ends = (failed, superseded, cancel);
            let times = (run.submitted_at, run.active_since, run.interrupted_at);
            let interrupted = (presence, origin, times);
            writeln!(text, "{id:?} {order} {options:?} {open} {ends:?} {interrupted:?}")?;
            for (at, step) in run.steps.iter().enumerate() {
                writeln!(text, "  {at} {step:?}")?;
            }
        }
        self.write_leases(text)?;
        for worker in self.worker_ids.values().map(|worker| &self.workers[*worker]) {
            let Worker { id, locality, scope, drained, since, kinds, .. } = worker;
            writeln!(text, "{id} {locality:?} {scope:?} {drained} {since} {kinds:?}")?;
        }
        writeln!(text, "{:?} {:?} {:?}", self.sealed, self.owned_runs, self.resumable)?;
        writeln!(text, "{:?}", self.keys)?;
        writeln!(text, "{:?}", self.ledger)?;
        for (at, lane) in self.queues.lanes.iter() {
            let queued: Vec<_> = lane.iter().collect();
            writeln!(text, "lane {at} {:?} passed {} {queued:?}", lane.key, lane.passed)?;
        }
        Ok(())
    }

    fn write_leases(&self, text: &mut String) -> fmt::Result {
        for (at, lease) in self.leases.iter() {
            let Lease {
                fence,
                incarnation,
                locality,
                since,
                ttl,
                led_since,
                leapt,
                started_at,
                overdue_at,
                locks,
                ..
            } = lease;
            let times = (since, ttl, led_since, leapt, started_at, overdue_at);
            writeln!(text, "lease {at} {fence} {incarnation} {locality:?} {times:?} {locks:?}")?;
        }
        Ok(())
    }

    fn write_dump(&self, text: &mut String) -> fmt::Result {
        writeln!(text, "term {} ttl {} fences {}", self.term, self.ttl, self.fences)?;
        for worker in self.worker_ids.values() {
            worker_line(text, &self.workers[*worker])?;
        }
        for run in self.run_ids.values() {
            self.run_lines(text, &self.runs[*run])?;
        }
        for lock in self.queues.lock_ids.values() {
            lock_line(text, &self.queues.locks[*lock])?;
        }
        for token in self.keys.tokens() {
            token_line(text, token)?;
        }
        for (worker, enrolment) in self.keys.workers() {
            let WorkerCredential { name, digest: _, by, since, revoked } = enrolment;
            writeln!(text, "enrolled {name} {worker} by {by} at {since} revoked {revoked:?}")?;
        }
        for IdempotencyKeyReport { key, status, run, name, at, waiting, .. } in
            self.key_reports(None)
        {
            writeln!(text, "key {key} {status} {run} {name} at {at} waiting {waiting}")?;
        }
        for AuditEntry { at, by, act, about } in self.acts.iter() {
            writeln!(text, "{by}: {act} {about} at {at}")?;
        }
        Ok(())
    }

    fn run_lines(&self, text: &mut String, run: &Run) -> fmt::Result {
        writeln!(text, "run {} {} {}", run.id, run.plan.pipeline(), run.status)?;
        for node in run.plan.nodes() {
            self.step_line(text, run, node)?;
        }
        for (fence, spent) in &run.spent {
            writeln!(text, "  {fence} {:?}", spent.how)?;
        }
        Ok(())
    }

    fn step_line(&self, text: &mut String, run: &Run, node: StepIx) -> fmt::Result {
        let state = run.step(node);
        write!(text, "  {} {}", run.plan.name(node), state.status)?;
        if state.attempt > 1 || state.delivery > 1 || state.losses > 0 {
            write!(
                text,
                " attempt {} delivery {} losses {}",
                state.attempt, state.delivery, state.losses
            )?;
        }
        if state.status == StepStatus::Waiting && state.remaining > 0 {
            write!(text, " needs {}", state.remaining)?;
        }
        if let Some(cause) = state.cause() {
            write!(text, " because of {}", run.plan.name(cause))?;
        }
        if let Some(lease) = state.lease.map(|lease| &self.leases[lease]) {
            self.lease_words(text, lease)?;
        }
        if let Some(avoid) = run.avoid.get(&node) {
            write!(text, " avoiding {}", avoid.worker)?;
        }
        if let Some(output) = run.outputs.get(&node) {
            write!(text, " output {:?}", output.value)?;
            if let Some(artifacts) = output.artifacts {
                write!(text, " artifacts {artifacts:?}")?;
            }
        }
        writeln!(text)
    }

    fn lease_words(&self, text: &mut String, lease: &Lease) -> fmt::Result {
        write!(text, " {} on {} {}", lease.fence, self.workers[lease.worker].name, lease.seq)?;
        if lease.term != self.term {
            write!(text, " of {}", lease.term)?;
        }
        if let Some(led) = lease.led_since {
            write!(text, " unconfirmed since {led}")?;
        }
        if let Some((how, why)) = lease.stop {
            write!(text, " stop {how:?} {why}")?;
        }
        Ok(())
    }
}

fn worker_line(text: &mut String, worker: &Worker) -> fmt::Result {
    write!(text, "worker {} {} {} {}", worker.name, worker.id, worker.incarnation, worker.status)?;
    write!(text, " {} of {} slots", worker.open(), worker.slots)?;
    let labels = worker.labels.to_string();
    if !labels.is_empty() {
        write!(text, " [{labels}]")?;
    }
    writeln!(text)
}

fn token_line(text: &mut String, record: &TokenRecord) -> fmt::Result {
    let TokenRecord { id, token, created, revoked } = record;
    let NewToken { name, scopes, digest: _, expires } = token;
    writeln!(
        text,
        "token {id} {name} [{scopes}] made at {created} expires {expires:?} revoked {revoked:?}"
    )
}

fn lock_line(text: &mut String, lock: &Lock) -> fmt::Result {
    write!(text, "lock {} {} of {}", lock.name, lock.holders.len(), lock.slots())?;
    let mut holders = lock.holders.clone();
    holders.sort_unstable();
    for holder in holders {
        write!(text, " {holder}")?;
    }
    writeln!(text)
}
