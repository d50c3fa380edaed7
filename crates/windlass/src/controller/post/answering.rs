//! What a leader answers to a letter.

use tokio::sync::mpsc;
use windlass_core::access::{Digest, Principal};
use windlass_core::engine::{self, CancelLevel, Request};
use windlass_core::id::WorkerId;
use windlass_core::session::{Home, Refusal, Register};
use windlass_core::shown::{is_label, is_plain};

use crate::controller::{Handle, Intake, NotLeader};
use crate::link::number_of;
use crate::link::output::{LogChunk, LogsTaken};
use crate::link::post::{Answer, Ask};
use crate::logs::LogId;

/// Bytes of output that one letter may carry: a quarter of the largest, so that a flood of it delays nobody's leases.
const CREDIT: usize = 256 << 10;

/// What questions are answered from.
#[derive(Debug)]
pub(super) struct Answering {
    pub(super) handle: Handle,
    pub(super) intake: Intake,
    pub(super) cluster: String,
    /// Who is told that a worker wants the run to end; nobody where runs are not its to end.
    pub(super) wishes: Option<mpsc::Sender<CancelLevel>>,
}

impl Answering {
    /// Answers a question, which for an exchange may take as long as there is nothing to say.
    pub(super) async fn answer(&self, ask: Ask) -> Answer {
        let answered = match ask {
            Ask::Hello => Ok(self.hello()),
            Ask::Join { register, digest } => self.join(*register, digest).await,
            Ask::Exchange(exchange) => self.handle.exchange(exchange).await.map(replied),
            Ask::Logs { worker, pieces } => Ok(self.take(worker, pieces).await),
            Ask::Ended { worker, incarnation, started } => {
                // Whatever is made of a guard's report, it was heard.
                let ended = Request::GuardEnded { worker, incarnation, started };
                self.handle.ask(ended).await.map(|_| Answer::Heard)
            }
            Ask::Cancel { kill } => Ok(self.cancel(kill)),
            Ask::CancelRun { worker, lease } => {
                self.handle.cancel_by_step(Some(worker), lease).await.map(|()| Answer::Heard)
            }
            Ask::Fetch { value, from } => Ok(self.value(value, from).await),
        };
        answered.unwrap_or(Answer::NotNow)
    }

    async fn join(&self, register: Register, digest: Digest) -> Result<Answer, NotLeader> {
        if !is_plain(&register.name) || !register.labels.iter().all(is_label) {
            // No windlass calls itself so, and everybody would be shown it.
            return Err(NotLeader);
        }
        if register.worker != number_of(digest) {
            return Ok(Answer::Joined(Err(Refusal::OtherWorker(register.worker))));
        }
        let by = Principal::Worker { id: register.worker };
        // Who shares the leader's fate is in its process and does not come this way.
        let register = Register { home: Home::Apart, ..register };
        match self.handle.ask(Request::Join { register, digest }.by(by)).await? {
            engine::Answer::Registered(told) => Ok(Answer::Joined(Ok(told))),
            engine::Answer::Refused(refusal) => Ok(Answer::Joined(Err(refusal))),
            other => unreachable!("a registration is accepted or refused, not {other:?}"),
        }
    }

    fn hello(&self) -> Answer {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Answer::Hello { cluster: self.cluster.clone(), version }
    }

    fn cancel(&self, kill: bool) -> Answer {
        let level = if kill { CancelLevel::Kill } else { CancelLevel::Stop };
        if let Some(wishes) = &self.wishes {
            // Where many wait already one more says nothing new.
            let _ = wishes.try_send(level);
        }
        Answer::Heard
    }

    async fn take(&self, worker: WorkerId, pieces: Vec<LogChunk>) -> Answer {
        match self.intake.take(worker, pieces).await {
            Ok(sizes) => Answer::Taken(LogsTaken { sizes, credit: CREDIT }),
            // It is on the worker's disk, and is brought again.
            Err(_) => Answer::NotNow,
        }
    }

    async fn value(&self, value: LogId, from: u64) -> Answer {
        let part = self.intake.value(value, from, CREDIT as u64).await;
        part.map_or(Answer::NotNow, Answer::Fetched)
    }
}

fn replied(reply: windlass_core::session::Reply) -> Answer {
    Answer::Replied(Box::new(reply))
}
