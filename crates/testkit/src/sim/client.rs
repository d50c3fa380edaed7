//! Clients. They submit, cancel, drain, revoke and release by force, and repeat each request until it is answered.

use windlass_core::engine::{
    CancelLevel, EngineAnswer, EngineRequest, Event, ParentStep, RequestDenial, ReusedOutcome,
    RunOptions, SubmitRun,
};
use windlass_core::id::{Fence, RunId, StepIx, WorkerId};
use windlass_core::outcome::StepOutput;

use super::link::UplinkMessage;
use super::world::{SimEvent, SimWorld};

/// A request that a client repeats until it is answered.
pub(crate) struct ClientOp {
    kind: ClientOpKind,
    pub(crate) acked: bool,
    leader: usize,
    /// The time before which it does nothing.
    pub(crate) rests_until: u64,
}

#[derive(Clone)]
enum ClientOpKind {
    Submit(usize),
    /// Resumes an interrupted run, to continue it or to cancel it.
    Resume(usize),
    Cancel(usize, CancelLevel),
    Drain(usize),
    Revoke(usize),
    Condemn(usize),
    ForceRelease(Box<str>, Fence),
}

#[derive(Clone, Debug)]
pub(crate) enum ClientAnswer {
    Of(EngineAnswer),
    NotLeader,
}

impl ClientOp {
    const fn of(kind: ClientOpKind) -> Self {
        Self { kind, acked: false, leader: 0, rests_until: 0 }
    }

    pub(crate) const fn resume(run: usize) -> Self {
        Self::of(ClientOpKind::Resume(run))
    }

    pub(crate) const fn submit(run: usize) -> Self {
        Self::of(ClientOpKind::Submit(run))
    }

    pub(crate) const fn cancel(run: usize, level: CancelLevel) -> Self {
        Self::of(ClientOpKind::Cancel(run, level))
    }

    pub(crate) const fn revoke(worker: usize) -> Self {
        Self::of(ClientOpKind::Revoke(worker))
    }

    pub(crate) const fn condemn(run: usize) -> Self {
        Self::of(ClientOpKind::Condemn(run))
    }

    pub(crate) const fn force_release(lock: Box<str>, fence: Fence) -> Self {
        Self::of(ClientOpKind::ForceRelease(lock, fence))
    }

    pub(crate) const fn drain(worker: usize) -> Self {
        Self::of(ClientOpKind::Drain(worker))
    }
}

/// Returns the id of the schedule's run.
pub(crate) const fn run_id(run: usize) -> RunId {
    RunId(run as u64 + 1)
}

impl SimWorld<'_> {
    pub(crate) fn client_tries(&mut self, client: usize) {
        if self.clients[client].acked {
            return;
        }
        if self.is_sealed(client) {
            // The run of the request has ended: the archive has it.
            self.clients[client].acked = true;
            return;
        }
        if self.now < self.clients[client].rests_until {
            return self.at(self.clients[client].rests_until, SimEvent::ClientTry(client));
        }
        let leader = self.clients[client].leader;
        self.clients[client].leader = (leader + 1) % self.leaders.len();
        let Some(request) = self.client_request(client) else {
            // The process of the run is not there, or the run is no longer interrupted.
            if !self.clients[client].acked {
                let pause = self.rng.range(300, 700);
                self.at(self.now + pause, SimEvent::ClientTry(client));
            }
            return;
        };
        let lost = !self.is_healed() && self.rng.chance(self.schedule.network.loss_per_mille);
        if !lost {
            let delay = self.rng.range(1, 20);
            self.at(
                self.now + delay,
                SimEvent::ToLeader(leader, UplinkMessage::Client(client, request)),
            );
        }
        let pause = self.rng.range(700, 1_500);
        self.at(self.now + pause, SimEvent::ClientTry(client));
    }

    /// Returns whether the run of a client is sealed.
    fn is_sealed(&self, client: usize) -> bool {
        match self.clients[client].kind {
            ClientOpKind::Submit(run)
            | ClientOpKind::Cancel(run, _)
            | ClientOpKind::Condemn(run) => self.maintenance.is_sealed(run_id(run)),
            ClientOpKind::Resume(_)
            | ClientOpKind::Drain(_)
            | ClientOpKind::Revoke(_)
            | ClientOpKind::ForceRelease(..) => false,
        }
    }

    /// Returns the request; `None` if it cannot be made now.
    fn client_request(&mut self, client: usize) -> Option<EngineRequest> {
        Some(match self.clients[client].kind.clone() {
            ClientOpKind::Submit(run) => EngineRequest::Submit(self.submission(run)?),
            ClientOpKind::Resume(run) => {
                if !self.is_interrupted(run) {
                    self.clients[client].acked = true;
                    return None;
                }
                let cancels = run.is_multiple_of(5);
                EngineRequest::Resume(self.resume_request(run, cancels)?)
            }
            ClientOpKind::Cancel(run, level) => EngineRequest::Cancel { run: run_id(run), level },
            ClientOpKind::Drain(worker) => EngineRequest::Drain { worker: WorkerId(worker as u64) },
            ClientOpKind::Revoke(worker) => {
                EngineRequest::RevokeWorker { worker: WorkerId(worker as u64) }
            }
            ClientOpKind::Condemn(run) => EngineRequest::Condemn { run: run_id(run) },
            ClientOpKind::ForceRelease(lock, fence) => EngineRequest::ForceRelease { lock, fence },
        })
    }

    /// Returns the submission of a run. A run that belongs to a process waits until the worker of the process has joined,
    /// and one inside a step until the step runs.
    fn submission(&self, run: usize) -> Option<SubmitRun> {
        let sketch = &self.schedule.runs[run];
        let reuse = |step: &u32| ReusedOutcome {
            step: StepIx(*step),
            from: RunId(9_999),
            output: StepOutput::NONE,
        };
        let owner = match sketch.owner {
            Some(worker) => Some(self.owner_now(worker)?),
            None => None,
        };
        let mut parent = None;
        if let Some((outer, step)) = sketch.inside {
            let run = run_id(outer);
            let over = self.is_healed() || self.witness.has_ended((run, step));
            if !over && !self.witness.is_running((run, step)) {
                return None;
            }
            parent = Some(ParentStep { run, step });
        }
        Some(SubmitRun {
            run: run_id(run),
            plan: sketch.plan.clone(),
            options: RunOptions { owner, parent, ..sketch.options },
            reused: sketch.reused.iter().map(reuse).collect(),
        })
    }

    /// Returns whether a request repeats the submission of a run that has ended. The controller finds the run in its
    /// engine or in the archive before it asks the engine, which forgets the run when it is sealed.
    pub(crate) fn is_submission_of_ended_run(&self, request: &EngineRequest) -> bool {
        let EngineRequest::Submit(SubmitRun { run, .. }) = request else { return false };
        let ended = |event: &Event| matches!(event, Event::RunEnded(ended) if ended.run == *run);
        self.journal.records.iter().any(|record| ended(&record.event))
    }

    /// Answers a repeated submission without the engine.
    pub(crate) fn submission_is_known(&mut self, client: usize) {
        let answer = ClientAnswer::Of(EngineAnswer::Submitted { warnings: Vec::new() });
        self.at(self.now + 2, SimEvent::ToClient(client, answer));
    }

    pub(crate) fn client_receives(&mut self, client: usize, answer: ClientAnswer) {
        let ClientAnswer::Of(answer) = answer else { return };
        if self.clients[client].acked {
            return;
        }
        match (&self.clients[client].kind, &answer) {
            (ClientOpKind::Submit(run), EngineAnswer::Submitted { .. }) => {
                let seen = self.witness.submit_acked(run_id(*run));
                self.check(seen);
            }
            // The process has ended meanwhile: the next one submits again. Or the run was interrupted and sealed.
            (
                ClientOpKind::Submit(_) | ClientOpKind::Resume(_),
                EngineAnswer::Denied(RequestDenial::OwnerGone { .. }),
            )
            | (ClientOpKind::Resume(_), EngineAnswer::Denied(_)) => return,
            (ClientOpKind::Submit(_), EngineAnswer::Denied(RequestDenial::RunInterrupted(_))) => {}
            (ClientOpKind::Resume(run), _) => {
                let run = *run;
                if run.is_multiple_of(5) {
                    self.resumed_to_cancel(run);
                }
            }
            (ClientOpKind::Submit(_), other) => {
                self.fail("I9 durability", format!("a submission was answered {other:?}"));
            }
            // A request for a run that is not there yet is repeated.
            (
                ClientOpKind::Cancel(..) | ClientOpKind::Condemn(_),
                EngineAnswer::Denied(RequestDenial::NoSuchRun(_)),
            )
            | (ClientOpKind::Revoke(_), EngineAnswer::Denied(RequestDenial::NoSuchWorker(_))) => {
                return;
            }
            (ClientOpKind::Cancel(run, _) | ClientOpKind::Condemn(run), EngineAnswer::Done) => {
                let seen = self.witness.cancel_acked(run_id(*run));
                self.check(seen);
            }
            (
                ClientOpKind::Cancel(..)
                | ClientOpKind::Drain(_)
                | ClientOpKind::Revoke(_)
                | ClientOpKind::Condemn(_)
                | ClientOpKind::ForceRelease(..),
                _,
            ) => {}
        }
        self.add_to_story(|| format!("client {client} heard {answer:?}"));
        self.clients[client].acked = true;
    }
}
