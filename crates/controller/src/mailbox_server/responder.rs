//! What a leader answers to a letter.

use tokio::sync::mpsc;
use windlass_core::access::{Principal, SecretDigest};
use windlass_core::display_text::{is_displayable, is_label};
use windlass_core::engine::{CancelLevel, EngineCall};
use windlass_core::id::WorkerId;
use windlass_core::session::{Exchange, RegisterRequest, WorkerLocality, WorkerRefusal};
use windlass_link::mailbox::{MailboxReply, MailboxRequest};
use windlass_link::output::{LogChunk, LogChunksReply};
use windlass_net::credentials::worker_id_of;
use windlass_store::logs::LogId;

use crate::{LogIngest, LogIngestError, NodeHandle, NotLeader, ResultPartRequest};

/// Bytes of output that one letter may carry: a quarter of the largest, so that a flood of it delays nobody's leases.
const CREDIT: usize = 256 << 10;

/// What questions are answered from.
#[derive(Debug)]
pub(super) struct MailboxResponder {
    pub(super) handle: NodeHandle,
    pub(super) intake: LogIngest,
    pub(super) cluster: String,
    /// Who is told that a worker wants the run to end; nobody where runs are not its to end.
    pub(super) cancel_requests: Option<mpsc::Sender<CancelLevel>>,
}

/// Why a question has no answer of its own.
enum MailboxRefusal {
    /// It may be asked again.
    NotNow,
    /// Its sender may not ask it.
    Denied(String),
}

impl From<NotLeader> for MailboxRefusal {
    fn from(_: NotLeader) -> Self {
        Self::NotNow
    }
}

impl MailboxResponder {
    /// Answers a question of the worker whose secret has this digest, which for an exchange may take as long as there is
    /// nothing to say.
    pub(super) async fn answer(&self, signer: SecretDigest, ask: MailboxRequest) -> MailboxReply {
        match self.try_answer(signer, ask).await {
            Ok(answer) => answer,
            Err(MailboxRefusal::NotNow) => MailboxReply::NotNow,
            Err(MailboxRefusal::Denied(reason)) => MailboxReply::Denied(reason),
        }
    }

    async fn try_answer(
        &self,
        signer: SecretDigest,
        ask: MailboxRequest,
    ) -> Result<MailboxReply, MailboxRefusal> {
        match ask {
            MailboxRequest::Hello => Ok(self.hello()),
            MailboxRequest::Join(register) => self.join(*register, signer).await,
            MailboxRequest::Exchange(exchange) => self.exchange(signer, exchange).await,
            MailboxRequest::Logs(pieces) => self.store_logs(signer, pieces).await,
            MailboxRequest::Ended { incarnation, started } => {
                let worker = self.sender(signer)?;
                // Whatever is made of a guard's report, it was heard.
                let ended = EngineCall::guard_ended(worker, incarnation, started);
                drop(self.handle.call(ended).await?);
                Ok(MailboxReply::Heard)
            }
            MailboxRequest::Cancel { kill } => Ok(self.cancel(kill)),
            MailboxRequest::CancelRun(lease) => {
                let worker = self.sender(signer)?;
                self.handle.cancel_by_step(Some(worker), lease).await?;
                Ok(MailboxReply::Heard)
            }
            MailboxRequest::Fetch { value, from } => self.value(signer, (value, from)).await,
        }
    }

    /// The worker that signed a question, unless its credential was revoked.
    fn sender(&self, digest: SecretDigest) -> Result<WorkerId, MailboxRefusal> {
        let worker = worker_id_of(digest);
        let is_revoked = self.handle.views().look(|view| view.engine.keys().is_revoked(worker));
        if is_revoked {
            let reason = format!("worker {}: {}", worker.0, WorkerRefusal::Revoked);
            return Err(MailboxRefusal::Denied(reason));
        }
        Ok(worker)
    }

    /// Makes a round trip. The engine refuses revoked workers itself, so that their sessions end as they do over HTTP.
    async fn exchange(
        &self,
        digest: SecretDigest,
        exchange: Exchange,
    ) -> Result<MailboxReply, MailboxRefusal> {
        let (proven, stated) = (worker_id_of(digest), exchange.worker);
        if proven != stated {
            let reason = format!("the message is from worker {}, the secret is not", stated.0);
            return Err(MailboxRefusal::Denied(reason));
        }
        Ok(MailboxReply::Replied(Box::new(self.handle.exchange(exchange).await?)))
    }

    async fn join(
        &self,
        register: RegisterRequest,
        digest: SecretDigest,
    ) -> Result<MailboxReply, MailboxRefusal> {
        if !is_displayable(&register.name) || !register.labels.iter().all(is_label) {
            // No windlass calls itself so, and everybody would be shown it.
            return Err(MailboxRefusal::NotNow);
        }
        if register.worker != worker_id_of(digest) {
            return Ok(MailboxReply::Joined(Err(WorkerRefusal::OtherWorker(register.worker))));
        }
        let by = Principal::Worker { id: register.worker };
        // Who shares the leader's fate is in its process and does not come this way.
        let register = RegisterRequest { home: WorkerLocality::Apart, ..register };
        let join = EngineCall::join(register, digest);
        Ok(MailboxReply::Joined(self.handle.call(join.by(by)).await?))
    }

    fn hello(&self) -> MailboxReply {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        MailboxReply::Hello { cluster: self.cluster.clone(), version }
    }

    fn cancel(&self, kill: bool) -> MailboxReply {
        let level = if kill { CancelLevel::Kill } else { CancelLevel::Stop };
        if let Some(wishes) = &self.cancel_requests {
            // Where many wait already one more says nothing new.
            let _ = wishes.try_send(level);
        }
        MailboxReply::Heard
    }

    async fn store_logs(
        &self,
        digest: SecretDigest,
        pieces: Vec<LogChunk>,
    ) -> Result<MailboxReply, MailboxRefusal> {
        match self.intake.take(self.sender(digest)?, pieces).await {
            Ok(sizes) => Ok(MailboxReply::Taken(LogChunksReply { sizes, credit: CREDIT })),
            // It is on the worker's disk, and is brought again.
            Err(_) => Err(MailboxRefusal::NotNow),
        }
    }

    async fn value(
        &self,
        digest: SecretDigest,
        (value, from): (LogId, u64),
    ) -> Result<MailboxReply, MailboxRefusal> {
        let asked = ResultPartRequest { value, from, most: CREDIT as u64 };
        match self.intake.value(self.sender(digest)?, asked).await {
            Ok(part) => Ok(MailboxReply::Fetched(part)),
            Err(error @ LogIngestError::ResultNotRead(_)) => {
                Err(MailboxRefusal::Denied(error.to_string()))
            }
            Err(_) => Err(MailboxRefusal::NotNow),
        }
    }
}
