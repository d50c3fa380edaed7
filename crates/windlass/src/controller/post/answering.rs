//! What a leader answers to a letter.

use tokio::sync::mpsc;
use windlass_core::access::{Digest, Principal};
use windlass_core::engine::{self, CancelLevel, Request};
use windlass_core::id::WorkerId;
use windlass_core::session::{Exchange, Home, Refusal, Register};
use windlass_core::shown::{is_label, is_plain};

use crate::controller::{Handle, Intake, IntakeError, NotLeader, ResultPart};
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

/// Why a question has no answer of its own.
enum Unanswered {
    /// It may be asked again.
    NotNow,
    /// Its sender may not ask it.
    Denied(String),
}

impl From<NotLeader> for Unanswered {
    fn from(_: NotLeader) -> Self {
        Self::NotNow
    }
}

impl Answering {
    /// Answers a question of the worker whose secret has this digest, which for an exchange may take as long as there is
    /// nothing to say.
    pub(super) async fn answer(&self, signer: Digest, ask: Ask) -> Answer {
        match self.try_answer(signer, ask).await {
            Ok(answer) => answer,
            Err(Unanswered::NotNow) => Answer::NotNow,
            Err(Unanswered::Denied(reason)) => Answer::Denied(reason),
        }
    }

    async fn try_answer(&self, signer: Digest, ask: Ask) -> Result<Answer, Unanswered> {
        match ask {
            Ask::Hello => Ok(self.hello()),
            Ask::Join(register) => self.join(*register, signer).await,
            Ask::Exchange(exchange) => self.exchange(signer, exchange).await,
            Ask::Logs(pieces) => self.take(signer, pieces).await,
            Ask::Ended { incarnation, started } => {
                let worker = self.sender(signer)?;
                // Whatever is made of a guard's report, it was heard.
                let ended = Request::GuardEnded { worker, incarnation, started };
                self.handle.ask(ended).await?;
                Ok(Answer::Heard)
            }
            Ask::Cancel { kill } => Ok(self.cancel(kill)),
            Ask::CancelRun(lease) => {
                let worker = self.sender(signer)?;
                self.handle.cancel_by_step(Some(worker), lease).await?;
                Ok(Answer::Heard)
            }
            Ask::Fetch { value, from } => self.value(signer, (value, from)).await,
        }
    }

    /// The worker that signed a question, unless its credential was revoked.
    fn sender(&self, digest: Digest) -> Result<WorkerId, Unanswered> {
        let worker = number_of(digest);
        let is_revoked = self.handle.views().look(|view| view.engine.keys().is_revoked(worker));
        if is_revoked {
            let reason = format!("worker {}: {}", worker.0, Refusal::Revoked);
            return Err(Unanswered::Denied(reason));
        }
        Ok(worker)
    }

    /// Makes a round trip. The engine refuses revoked workers itself, so that their sessions end as they do over HTTP.
    async fn exchange(&self, digest: Digest, exchange: Exchange) -> Result<Answer, Unanswered> {
        let (proven, stated) = (number_of(digest), exchange.worker);
        if proven != stated {
            let reason = format!("the message is from worker {}, the secret is not", stated.0);
            return Err(Unanswered::Denied(reason));
        }
        Ok(Answer::Replied(Box::new(self.handle.exchange(exchange).await?)))
    }

    async fn join(&self, register: Register, digest: Digest) -> Result<Answer, Unanswered> {
        if !is_plain(&register.name) || !register.labels.iter().all(is_label) {
            // No windlass calls itself so, and everybody would be shown it.
            return Err(Unanswered::NotNow);
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

    async fn take(&self, digest: Digest, pieces: Vec<LogChunk>) -> Result<Answer, Unanswered> {
        match self.intake.take(self.sender(digest)?, pieces).await {
            Ok(sizes) => Ok(Answer::Taken(LogsTaken { sizes, credit: CREDIT })),
            // It is on the worker's disk, and is brought again.
            Err(_) => Err(Unanswered::NotNow),
        }
    }

    async fn value(
        &self,
        digest: Digest,
        (value, from): (LogId, u64),
    ) -> Result<Answer, Unanswered> {
        let asked = ResultPart { value, from, most: CREDIT as u64 };
        match self.intake.value(self.sender(digest)?, asked).await {
            Ok(part) => Ok(Answer::Fetched(part)),
            Err(error @ IntakeError::ResultNotRead(_)) => {
                Err(Unanswered::Denied(error.to_string()))
            }
            Err(_) => Err(Unanswered::NotNow),
        }
    }
}
