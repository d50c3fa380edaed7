//! A worker's end.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};
use windlass_core::engine::CancelLevel;
use windlass_core::id::{Fence, Incarnation};
use windlass_core::session::{
    Exchange, ExchangeReply, LeaseRef, RegisterReply, RegisterRequest, WorkerRefusal,
};
use windlass_net::credentials::WorkerSecret;
use windlass_net::credentials::random_bytes;
use windlass_net::shutdown::ShutdownReceiver;
use windlass_store::logs::{LogId, LogPart};

use super::envelope::{MailboxKey, MessageEnvelope};
use super::mailbox_reader::MailboxReader;
use super::mailboxes::{BindingEpoch, MailboxError, MailboxId, Mailboxes};
use super::pending_requests::PendingRequests;
use super::protocol::{MailboxReply, MailboxRequest};
use super::signed_request::SignedMailboxRequest;
use crate::output::{LogChunk, LogChunksReply, OutputLink};
use crate::{LinkError, LinkFuture, WorkerLink};

/// How long an answer that is not parked may take, all its repetitions included.
const WITHIN: Duration = Duration::from_secs(10);

/// When a question without an answer is asked again: letters get lost. Long beside a round trip, short beside a lease.
const RESEND_AFTER: Duration = Duration::from_secs(1);

/// How long an exchange may be parked. It is not asked again here: the session sends the next when this one is overdue.
const PARKED_WITHIN: Duration = Duration::from_mins(1);

/// How long silence lasts before it is looked whether the leader is still there. A leader answers every few seconds.
const CHECK_LEADER_AFTER: Duration = Duration::from_secs(2);

/// The pause after a place that was not reached.
const PAUSE: Duration = Duration::from_millis(250);

/// A worker's end of a link through mailboxes. A clone is the same end.
#[derive(Clone, Debug)]
pub struct MailboxWorkerLink(Arc<MailboxLinkState>);

#[derive(Debug)]
struct MailboxLinkState {
    mailboxes: Arc<dyn Mailboxes>,
    key: MailboxKey,
    own: MailboxId,
    /// Signs each question.
    secret: WorkerSecret,
    pending: PendingRequests,
}

/// What a leader says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaderHello {
    /// Which cluster it leads.
    pub cluster: String,
    /// The version of its windlass.
    pub version: String,
}

/// Receives what a [`MailboxWorkerLink`] waits for.
#[derive(Debug)]
pub struct MailboxReceiveLoop(MailboxWorkerLink);

impl MailboxWorkerLink {
    /// The end of a worker, and what has to run for it to hear anything.
    pub fn new(
        mailboxes: Arc<dyn Mailboxes>,
        key: MailboxKey,
        worker: &WorkerSecret,
    ) -> std::io::Result<(Self, MailboxReceiveLoop)> {
        let secret = worker.clone();
        let chance = random_bytes()?;
        let own = u64::from_le_bytes(chance[..8].try_into().expect("there are 32 bytes"));
        // Small numbers are for those that everybody knows.
        let own = MailboxId(own | 1 << 32);
        let end = Self(Arc::new(MailboxLinkState {
            mailboxes,
            key,
            own,
            secret,
            pending: PendingRequests::default(),
        }));
        Ok((end.clone(), MailboxReceiveLoop(end)))
    }

    /// Asks which cluster is led here.
    pub async fn hello(&self) -> Result<LeaderHello, LinkError> {
        match self.0.request(&MailboxRequest::Hello, WITHIN, Some(RESEND_AFTER)).await? {
            MailboxReply::Hello { cluster, version } => Ok(LeaderHello { cluster, version }),
            other => Err(self.0.unexpected_reply(&other)),
        }
    }

    /// Tells the leader that nothing of a life of this worker is left, but perhaps outcomes of what was started.
    pub async fn ended(
        &self,
        incarnation: Incarnation,
        started: Vec<Fence>,
    ) -> Result<(), LinkError> {
        let ended = MailboxRequest::Ended { incarnation, started };
        match self.0.request(&ended, WITHIN, Some(RESEND_AFTER)).await? {
            MailboxReply::Heard => Ok(()),
            other => Err(self.0.unexpected_reply(&other)),
        }
    }

    /// Asks the leader to end the run that all are here for. One that leads a cluster does not.
    pub async fn cancel(&self, level: CancelLevel) -> Result<(), LinkError> {
        let cancel = MailboxRequest::Cancel { kill: level == CancelLevel::Kill };
        match self.0.request(&cancel, WITHIN, Some(RESEND_AFTER)).await? {
            MailboxReply::Heard => Ok(()),
            other => Err(self.0.unexpected_reply(&other)),
        }
    }
}

impl WorkerLink for MailboxWorkerLink {
    fn register(
        &self,
        register: RegisterRequest,
    ) -> LinkFuture<'_, Result<RegisterReply, WorkerRefusal>> {
        Box::pin(async move {
            let join = MailboxRequest::Join(Box::new(register));
            match self.0.request(&join, WITHIN, Some(RESEND_AFTER)).await? {
                MailboxReply::Joined(told) => Ok(told),
                other => Err(self.0.unexpected_reply(&other)),
            }
        })
    }

    fn exchange(&self, exchange: Exchange) -> LinkFuture<'_, ExchangeReply> {
        Box::pin(async move {
            let exchange = MailboxRequest::Exchange(exchange);
            match self.0.request(&exchange, PARKED_WITHIN, None).await? {
                MailboxReply::Replied(reply) => Ok(*reply),
                other => Err(self.0.unexpected_reply(&other)),
            }
        })
    }

    fn cancel_run(&self, lease: LeaseRef) -> LinkFuture<'_, ()> {
        Box::pin(async move {
            let cancel = MailboxRequest::CancelRun(lease);
            match self.0.request(&cancel, WITHIN, Some(RESEND_AFTER)).await? {
                MailboxReply::Heard => Ok(()),
                other => Err(self.0.unexpected_reply(&other)),
            }
        })
    }
}

impl OutputLink for MailboxWorkerLink {
    fn ship(&self, pieces: Vec<LogChunk>) -> LinkFuture<'_, LogChunksReply> {
        Box::pin(async move {
            let logs = MailboxRequest::Logs(pieces);
            match self.0.request(&logs, WITHIN, Some(RESEND_AFTER)).await? {
                MailboxReply::Taken(taken) => Ok(taken),
                other => Err(self.0.unexpected_reply(&other)),
            }
        })
    }

    fn fetch(&self, value: LogId, from: u64) -> LinkFuture<'_, LogPart> {
        Box::pin(async move {
            let fetch = MailboxRequest::Fetch { value, from };
            match self.0.request(&fetch, WITHIN, Some(RESEND_AFTER)).await? {
                MailboxReply::Fetched(part) => Ok(part),
                other => Err(self.0.unexpected_reply(&other)),
            }
        })
    }
}

impl MailboxLinkState {
    /// Asks the leader, again and again if it is said how often, until it answers or it has taken too long.
    async fn request(
        &self,
        ask: &MailboxRequest,
        within: Duration,
        again: Option<Duration>,
    ) -> Result<MailboxReply, LinkError> {
        let late = Instant::now() + within;
        loop {
            match self.request_once(ask, late, again).await? {
                Some(MailboxReply::NotNow) => {
                    return Err(LinkError::NotLeader(self.mailboxes.place()));
                }
                Some(MailboxReply::Denied(reason)) => {
                    return Err(LinkError::Denied { place: self.mailboxes.place(), reason });
                }
                // Another leads now, and the next letter is for that one.
                Some(MailboxReply::Missent) | None => {}
                Some(answer) => return Ok(answer),
            }
            if Instant::now() >= late {
                let reason = format!("no answer for {} s", within.as_secs());
                return Err(self.unreachable(reason));
            }
        }
    }

    /// One letter, and its answer if it comes in time.
    async fn request_once(
        &self,
        ask: &MailboxRequest,
        late: Instant,
        again: Option<Duration>,
    ) -> Result<Option<MailboxReply>, LinkError> {
        let epoch = self.epoch().await?;
        let (number, answered) = self.pending.add()?;
        let _forgets = ForgetRequestOnDrop { waiting: &self.pending, number };
        let envelope = MessageEnvelope { epoch, from: self.own, to: MailboxId::LEADER, number };
        let signed = SignedMailboxRequest::new(ask, &envelope, &self.secret);
        let letters = envelope.seal(&self.key, &signed).map_err(|error| self.failed(error))?;
        self.mailboxes.send(letters).await.map_err(|error| self.failed(error))?;
        let until = again.map_or(late, |again| late.min(Instant::now() + again));
        tokio::select! {
            answered = answered => match answered {
                Ok(answered) => answered.map(Some),
                // Too many questions are under way: this one was given up.
                Err(_) => Err(self.unreachable("no answer so far".to_owned())),
            },
            () = sleep_until(until) => Ok(None),
        }
    }

    /// Who leads, as far as it is known; looked up where nobody is known yet.
    async fn epoch(&self) -> Result<BindingEpoch, LinkError> {
        if self.pending.epoch()? == BindingEpoch::default() {
            self.refresh_binding().await?;
        }
        match self.pending.epoch()? {
            BindingEpoch(0) => Err(self.unreachable("nobody leads there yet".to_owned())),
            epoch => Ok(epoch),
        }
    }

    async fn refresh_binding(&self) -> Result<(), LinkError> {
        let standing = self.mailboxes.binding().await.map_err(|error| self.failed(error))?;
        self.pending.apply_binding(&self.mailboxes.place(), standing);
        Ok(())
    }

    /// What a failure of the mailboxes means for whoever asks.
    fn failed(&self, error: MailboxError) -> LinkError {
        match error {
            MailboxError::Full { .. } | MailboxError::Unreachable { .. } => {
                self.unreachable(error.to_string())
            }
            MailboxError::Finished { final_status: epitaph } => LinkError::Finished(epitaph),
            error => LinkError::StateLost(error.to_string()),
        }
    }

    fn unreachable(&self, reason: String) -> LinkError {
        LinkError::Unreachable { place: self.mailboxes.place(), reason }
    }

    fn unexpected_reply(&self, answer: &MailboxReply) -> LinkError {
        self.unreachable(format!("its answer makes no sense: {answer:?}"))
    }

    fn deliver(&self, reader: &mut MailboxReader, letters: Vec<Vec<u8>>) {
        for letter in letters {
            // What cannot be read is as good as lost.
            if let Ok(Some((envelope, answer))) = reader.read(&letter) {
                self.pending.complete(envelope.epoch, envelope.number, answer);
            }
        }
    }
}

impl MailboxReceiveLoop {
    /// Receives until it is told to end.
    pub async fn run(self, mut shutdown: ShutdownReceiver) {
        tokio::select! {
            () = shutdown.wait() => {}
            () = self.receive() => {}
        }
    }

    async fn receive(&self) {
        let end = &*self.0.0;
        let mut reader = MailboxReader::new(end.key.clone(), end.own);
        loop {
            match end.mailboxes.receive(end.own, CHECK_LEADER_AFTER).await {
                Ok(letters) if letters.is_empty() => self.check_leader().await,
                Ok(letters) => end.deliver(&mut reader, letters),
                Err(error) => self.failed(error).await,
            }
        }
    }

    /// Nothing has come for a while: the leader may have gone, or another come.
    async fn check_leader(&self) {
        // A place that cannot be looked at cannot be received from either, and that is told.
        drop(self.0.0.refresh_binding().await);
    }

    async fn failed(&self, error: MailboxError) {
        let why = self.0.0.failed(error);
        if why.is_final() {
            self.0.0.pending.end(why);
            return pending().await;
        }
        self.0.0.pending.fail(&why);
        sleep(PAUSE).await;
    }
}

/// Takes a question back, whatever became of it.
struct ForgetRequestOnDrop<'a> {
    waiting: &'a PendingRequests,
    number: u64,
}

impl Drop for ForgetRequestOnDrop<'_> {
    fn drop(&mut self) {
        self.waiting.forget(self.number);
    }
}
