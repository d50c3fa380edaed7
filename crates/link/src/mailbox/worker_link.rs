//! The worker's end of a link through mailboxes.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};
use windlass_core::engine::CancelLevel;
use windlass_core::id::{Fence, Incarnation};
use windlass_core::session::{
    Exchange, ExchangeReply, LeaseRef, RegisterReply, RegisterRequest, WorkerRefusal,
};
use windlass_net::credentials::{WorkerSecret, random_bytes};
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

/// Timeout of a request that is not parked, including resends.
const WITHIN: Duration = Duration::from_secs(10);

/// When an unanswered request is resent: messages can get lost. Long compared to a round trip, short compared to a
/// lease.
const RESEND_AFTER: Duration = Duration::from_secs(1);

/// Timeout of an exchange. It is not resent here: the session sends the next one when this one is overdue.
const PARKED_WITHIN: Duration = Duration::from_mins(1);

/// Time without messages after which the leader's binding is checked. A leader answers every few seconds.
const CHECK_LEADER_AFTER: Duration = Duration::from_secs(2);

/// The pause after a broker was not reached.
const PAUSE: Duration = Duration::from_millis(250);

/// The worker's end of a link through mailboxes. Clones share one end.
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

/// A leader's answer to [`MailboxRequest::Hello`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaderHello {
    /// The id of the cluster that it leads.
    pub cluster: String,
    /// The version of its windlass program.
    pub version: String,
}

/// Receives the messages for a [`MailboxWorkerLink`].
#[derive(Debug)]
pub struct MailboxReceiveLoop(MailboxWorkerLink);

impl MailboxWorkerLink {
    /// Returns a worker's end, and the receive loop that must run for answers to arrive.
    pub fn new(
        mailboxes: Arc<dyn Mailboxes>,
        key: MailboxKey,
        worker: &WorkerSecret,
    ) -> std::io::Result<(Self, MailboxReceiveLoop)> {
        let secret = worker.clone();
        let chance = random_bytes()?;
        let own = u64::from_le_bytes(chance[..8].try_into().expect("there are 32 bytes"));
        // Small numbers are reserved for well-known mailboxes.
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

    /// Asks the leader for its cluster.
    pub async fn hello(&self) -> Result<LeaderHello, LinkError> {
        match self.0.request(&MailboxRequest::Hello, WITHIN, Some(RESEND_AFTER)).await? {
            MailboxReply::Hello { cluster, version } => Ok(LeaderHello { cluster, version }),
            other => Err(self.0.unexpected_reply(&other)),
        }
    }

    /// Tells the leader that nothing of an incarnation of this worker is left, except perhaps outcomes of started
    /// leases.
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

    /// Asks the leader to cancel the run. A leader of a cluster refuses.
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
                MailboxReply::Joined(registered) => Ok(registered),
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
    /// Sends a request and resends it every `again`, if given, until the leader answers or `within` has passed.
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
                // Another leader is bound now; the next message is for that one.
                Some(MailboxReply::Missent) | None => {}
                Some(answer) => return Ok(answer),
            }
            if Instant::now() >= late {
                let reason = format!("no answer for {} s", within.as_secs());
                return Err(self.unreachable(reason));
            }
        }
    }

    /// Sends one message, and waits for its answer until it is time to resend.
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
        let messages = envelope.seal(&self.key, &signed).map_err(|error| self.failed(error))?;
        self.mailboxes.send(messages).await.map_err(|error| self.failed(error))?;
        let until = again.map_or(late, |again| late.min(Instant::now() + again));
        tokio::select! {
            answered = answered => match answered {
                Ok(answered) => answered.map(Some),
                // Too many requests are pending: this one was evicted.
                Err(_) => Err(self.unreachable("no answer so far".to_owned())),
            },
            () = sleep_until(until) => Ok(None),
        }
    }

    /// The newest leader's epoch; looked up if none is known yet.
    async fn epoch(&self) -> Result<BindingEpoch, LinkError> {
        if self.pending.epoch()? == BindingEpoch::default() {
            self.refresh_binding().await?;
        }
        match self.pending.epoch()? {
            BindingEpoch(0) => Err(self.unreachable("there is no leader yet".to_owned())),
            epoch => Ok(epoch),
        }
    }

    async fn refresh_binding(&self) -> Result<(), LinkError> {
        let standing = self.mailboxes.binding().await.map_err(|error| self.failed(error))?;
        self.pending.apply_binding(&self.mailboxes.place(), standing);
        Ok(())
    }

    /// The link error for a failure of the mailboxes.
    fn failed(&self, error: MailboxError) -> LinkError {
        match error {
            MailboxError::Full { .. } | MailboxError::Unreachable { .. } => {
                self.unreachable(error.to_string())
            }
            MailboxError::Finished { final_status } => LinkError::Finished(final_status),
            error => LinkError::StateLost(error.to_string()),
        }
    }

    fn unreachable(&self, reason: String) -> LinkError {
        LinkError::Unreachable { place: self.mailboxes.place(), reason }
    }

    fn unexpected_reply(&self, answer: &MailboxReply) -> LinkError {
        self.unreachable(format!("it sent an unexpected reply: {answer:?}"))
    }

    fn deliver(&self, reader: &mut MailboxReader, messages: Vec<Vec<u8>>) {
        for message in messages {
            // An unreadable message counts as lost.
            if let Ok(Some((envelope, answer))) = reader.read(&message) {
                self.pending.complete(envelope.epoch, envelope.number, answer);
            }
        }
    }
}

impl MailboxReceiveLoop {
    /// Receives until shutdown.
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
                Ok(messages) if messages.is_empty() => self.check_leader().await,
                Ok(messages) => end.deliver(&mut reader, messages),
                Err(error) => self.failed(error).await,
            }
        }
    }

    /// Called when no message has come for a while: the leader may have gone, or been replaced.
    async fn check_leader(&self) {
        // If this fails, so does the next receive, which reports it.
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

/// Removes a request from the pending ones when dropped.
struct ForgetRequestOnDrop<'a> {
    waiting: &'a PendingRequests,
    number: u64,
}

impl Drop for ForgetRequestOnDrop<'_> {
    fn drop(&mut self) {
        self.waiting.forget(self.number);
    }
}
