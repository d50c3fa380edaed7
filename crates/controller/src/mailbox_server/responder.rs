//! Answers the requests that arrive as messages.

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

/// The largest number of output bytes in one message. It is a quarter of the largest message, so that output does not
/// delay leases.
const CREDIT: usize = 256 << 10;

/// The services that answer requests.
#[derive(Debug)]
pub(super) struct MailboxResponder {
    pub(super) handle: NodeHandle,
    pub(super) intake: LogIngest,
    pub(super) cluster: String,
    /// Receives workers' requests to cancel the run. `None` where workers cannot cancel it.
    pub(super) cancel_requests: Option<mpsc::Sender<CancelLevel>>,
}

/// The reason for which a request has no answer of its own.
enum MailboxRefusal {
    /// The worker can repeat the request.
    NotNow,
    /// The worker may not send this request.
    Denied(String),
}

impl From<NotLeader> for MailboxRefusal {
    fn from(_: NotLeader) -> Self {
        Self::NotNow
    }
}

impl MailboxResponder {
    /// Answers a request of the worker whose secret has this digest. An exchange is answered once there is news for the
    /// worker.
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
                // The guard's report is acknowledged whatever the leader makes of it.
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

    /// Returns the worker that signed a request, unless its credential was revoked.
    fn sender(&self, digest: SecretDigest) -> Result<WorkerId, MailboxRefusal> {
        let worker = worker_id_of(digest);
        let is_revoked = self.handle.views().with(|view| view.engine.keys().is_revoked(worker));
        if is_revoked {
            let reason = format!("worker {}: {}", worker.0, WorkerRefusal::Revoked);
            return Err(MailboxRefusal::Denied(reason));
        }
        Ok(worker)
    }

    /// Answers an exchange. The engine refuses revoked workers itself, so that their sessions end as they do over HTTP.
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
            // No version of windlass uses such a name, and every user would see it.
            return Err(MailboxRefusal::NotNow);
        }
        if register.worker != worker_id_of(digest) {
            return Ok(MailboxReply::Joined(Err(WorkerRefusal::OtherWorker(register.worker))));
        }
        let by = Principal::Worker { id: register.worker };
        // A worker that shares the fate of the leader is in the leader's process and does not use a mailbox.
        let register = RegisterRequest { locality: WorkerLocality::Apart, ..register };
        let join = EngineCall::join(register, digest);
        Ok(MailboxReply::Joined(self.handle.call(join.by(by)).await?))
    }

    fn hello(&self) -> MailboxReply {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        MailboxReply::Hello { cluster: self.cluster.clone(), version }
    }

    fn cancel(&self, kill: bool) -> MailboxReply {
        let level = if kill { CancelLevel::Kill } else { CancelLevel::Stop };
        if let Some(cancels) = &self.cancel_requests {
            // If many requests wait already, one more adds nothing.
            let _ = cancels.try_send(level);
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
            // The output is on the worker's disk, and the worker sends it again.
            Err(_) => Err(MailboxRefusal::NotNow),
        }
    }

    async fn value(
        &self,
        digest: SecretDigest,
        (value, from): (LogId, u64),
    ) -> Result<MailboxReply, MailboxRefusal> {
        let request = ResultPartRequest { value, from, most: CREDIT as u64 };
        match self.intake.value(self.sender(digest)?, request).await {
            Ok(part) => Ok(MailboxReply::Fetched(part)),
            Err(error @ LogIngestError::ResultNotRead(_)) => {
                Err(MailboxRefusal::Denied(error.to_string()))
            }
            Err(_) => Err(MailboxRefusal::NotNow),
        }
    }
}
