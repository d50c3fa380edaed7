//! Clients. They submit, cancel, drain, revoke and release by force, and repeat each request until it is answered.

use windlass_core::engine::{
    CancelLevel, EngineAnswer, EngineRequest, Event, RequestDenial, ReusedOutcome, SubmitRun,
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
}

#[derive(Clone)]
enum ClientOpKind {
    Submit(usize),
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
    pub(crate) const fn submit(run: usize) -> Self {
        Self { kind: ClientOpKind::Submit(run), acked: false, leader: 0 }
    }

    pub(crate) const fn cancel(run: usize, level: CancelLevel) -> Self {
        Self { kind: ClientOpKind::Cancel(run, level), acked: false, leader: 0 }
    }

    pub(crate) const fn revoke(worker: usize) -> Self {
        Self { kind: ClientOpKind::Revoke(worker), acked: false, leader: 0 }
    }

    pub(crate) const fn condemn(run: usize) -> Self {
        Self { kind: ClientOpKind::Condemn(run), acked: false, leader: 0 }
    }

    pub(crate) const fn force_release(lock: Box<str>, fence: Fence) -> Self {
        Self { kind: ClientOpKind::ForceRelease(lock, fence), acked: false, leader: 0 }
    }

    pub(crate) const fn drain(worker: usize) -> Self {
        Self { kind: ClientOpKind::Drain(worker), acked: false, leader: 0 }
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
        let leader = self.clients[client].leader;
        self.clients[client].leader = (leader + 1) % self.leaders.len();
        let request = self.client_request(client);
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
            ClientOpKind::Drain(_) | ClientOpKind::Revoke(_) | ClientOpKind::ForceRelease(..) => {
                false
            }
        }
    }

    fn client_request(&self, client: usize) -> EngineRequest {
        match &self.clients[client].kind {
            ClientOpKind::Submit(run) => {
                let sketch = &self.schedule.runs[*run];
                let reuse = |step: &u32| ReusedOutcome {
                    step: StepIx(*step),
                    from: RunId(9_999),
                    output: StepOutput::None,
                };
                EngineRequest::Submit(SubmitRun {
                    run: run_id(*run),
                    plan: sketch.plan.clone(),
                    options: sketch.options,
                    reused: sketch.reused.iter().map(reuse).collect(),
                })
            }
            ClientOpKind::Cancel(run, level) => {
                EngineRequest::Cancel { run: run_id(*run), level: *level }
            }
            ClientOpKind::Drain(worker) => {
                EngineRequest::Drain { worker: WorkerId(*worker as u64) }
            }
            ClientOpKind::Revoke(worker) => {
                EngineRequest::RevokeWorker { worker: WorkerId(*worker as u64) }
            }
            ClientOpKind::Condemn(run) => EngineRequest::Condemn { run: run_id(*run) },
            ClientOpKind::ForceRelease(lock, fence) => {
                EngineRequest::ForceRelease { lock: lock.clone(), fence: *fence }
            }
        }
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
