//! Clients: they submit, cancel, drain, revoke and release by force, and repeat themselves until they are heard.

use windlass_core::engine::{Answer, CancelLevel, Denial, Request, Reused, Submit};
use windlass_core::id::{Fence, RunId, StepIx, WorkerId};
use windlass_core::outcome::Output;

use super::link::Up;
use super::world::{Ev, World};

/// Something that a client wants done.
pub(crate) struct ClientOp {
    what: What,
    pub(crate) acked: bool,
    leader: usize,
}

#[derive(Clone)]
enum What {
    Submit(usize),
    Cancel(usize, CancelLevel),
    Drain(usize),
    Revoke(usize),
    Condemn(usize),
    ForceRelease(Box<str>, Fence),
}

#[derive(Clone, Debug)]
pub(crate) enum ClientAnswer {
    Of(Answer),
    NotLeader,
}

impl ClientOp {
    pub(crate) const fn submit(run: usize) -> Self {
        Self { what: What::Submit(run), acked: false, leader: 0 }
    }

    pub(crate) const fn cancel(run: usize, level: CancelLevel) -> Self {
        Self { what: What::Cancel(run, level), acked: false, leader: 0 }
    }

    pub(crate) const fn revoke(worker: usize) -> Self {
        Self { what: What::Revoke(worker), acked: false, leader: 0 }
    }

    pub(crate) const fn condemn(run: usize) -> Self {
        Self { what: What::Condemn(run), acked: false, leader: 0 }
    }

    pub(crate) const fn force_release(lock: Box<str>, fence: Fence) -> Self {
        Self { what: What::ForceRelease(lock, fence), acked: false, leader: 0 }
    }

    pub(crate) const fn drain(worker: usize) -> Self {
        Self { what: What::Drain(worker), acked: false, leader: 0 }
    }
}

/// The id of the schedule's run.
pub(crate) const fn run_id(run: usize) -> RunId {
    RunId(run as u64 + 1)
}

impl World<'_> {
    pub(crate) fn client_tries(&mut self, client: usize) {
        if self.clients[client].acked {
            return;
        }
        if self.is_sealed(client) {
            // What it is about has ended: the archive says so.
            self.clients[client].acked = true;
            return;
        }
        let leader = self.clients[client].leader;
        self.clients[client].leader = (leader + 1) % self.leaders.len();
        let request = self.client_request(client);
        let lost = !self.is_healed() && self.rng.chance(self.schedule.weather.loss_per_mille);
        if !lost {
            let delay = self.rng.range(1, 20);
            self.at(self.now + delay, Ev::ToLeader(leader, Up::Client(client, request)));
        }
        let pause = self.rng.range(700, 1_500);
        self.at(self.now + pause, Ev::ClientTry(client));
    }

    /// Whether the run that a client is about is sealed.
    fn is_sealed(&self, client: usize) -> bool {
        match self.clients[client].what {
            What::Submit(run) | What::Cancel(run, _) | What::Condemn(run) => {
                self.maintenance.is_sealed(run_id(run))
            }
            What::Drain(_) | What::Revoke(_) | What::ForceRelease(..) => false,
        }
    }

    fn client_request(&self, client: usize) -> Request {
        match &self.clients[client].what {
            What::Submit(run) => {
                let sketch = &self.schedule.runs[*run];
                let reuse = |step: &u32| Reused {
                    step: StepIx(*step),
                    from: RunId(9_999),
                    output: Output::None,
                };
                Request::Submit(Submit {
                    run: run_id(*run),
                    plan: sketch.plan.clone(),
                    options: sketch.options,
                    reused: sketch.reused.iter().map(reuse).collect(),
                })
            }
            What::Cancel(run, level) => Request::Cancel { run: run_id(*run), level: *level },
            What::Drain(worker) => Request::Drain { worker: WorkerId(*worker as u64) },
            What::Revoke(worker) => Request::RevokeWorker { worker: WorkerId(*worker as u64) },
            What::Condemn(run) => Request::Condemn { run: run_id(*run) },
            What::ForceRelease(lock, fence) => {
                Request::ForceRelease { lock: lock.clone(), fence: *fence }
            }
        }
    }

    pub(crate) fn client_receives(&mut self, client: usize, answer: ClientAnswer) {
        let ClientAnswer::Of(answer) = answer else { return };
        if self.clients[client].acked {
            return;
        }
        match (&self.clients[client].what, &answer) {
            (What::Submit(run), Answer::Submitted { .. }) => {
                let seen = self.witness.submit_acked(run_id(*run));
                self.check(seen);
            }
            (What::Submit(_), other) => {
                self.fail("I9 durability", format!("a submission was answered {other:?}"));
            }
            // What is not there yet is asked for again.
            (What::Cancel(..) | What::Condemn(_), Answer::Denied(Denial::NoSuchRun(_)))
            | (What::Revoke(_), Answer::Denied(Denial::NoSuchWorker(_))) => return,
            (What::Cancel(run, _) | What::Condemn(run), Answer::Done) => {
                let seen = self.witness.cancel_acked(run_id(*run));
                self.check(seen);
            }
            (
                What::Cancel(..)
                | What::Drain(_)
                | What::Revoke(_)
                | What::Condemn(_)
                | What::ForceRelease(..),
                _,
            ) => {}
        }
        self.tell(|| format!("client {client} heard {answer:?}"));
        self.clients[client].acked = true;
    }
}
