//! The mailbox server: receives messages, and answers them.

use std::collections::BTreeSet;
use std::mem::{Discriminant, discriminant};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use windlass_core::engine::CancelLevel;
use windlass_core::time::Time;
use windlass_link::mailbox::{
    BindingEpoch, MailboxId, MailboxKey, MailboxMessage, MailboxReader, MailboxReply,
    MailboxRequest, Mailboxes, MessageEnvelope, SignedMailboxRequest, UnreadableMessage,
};
use windlass_net::credentials::worker_id_of;
use windlass_net::shutdown::ShutdownReceiver;

use super::binding::{MailboxServerBinding, MailboxServerError, MailboxServerOptions};
use super::outbox;
use super::responder::MailboxResponder;
use super::seen_requests::SeenMailboxRequests;
use crate::{LogIngest, NodeHandle};

/// The time that one call waits for messages.
const RECEIVES_FOR: Duration = Duration::from_secs(2);

/// Messages that are answered at a time: two exchanges, output and a report of every worker that a cluster may have.
/// Further messages are dropped, and the workers send them again.
const ANSWERING_MAX: usize = 4_096;

/// Answers that may wait to be sent.
const OUTBOX_MAX: usize = 256;

/// Mailboxes that get the final status: more than a cluster has workers. Other workers read it from the broker.
const KNOWN_MAILBOXES_MAX: usize = 4_096;

/// Mailboxes whose requests are remembered, 8 MiB. Each start of a worker or a guard creates one. When there are more,
/// the place is bound anew.
const MAILBOXES_MAX: usize = 65_536;

/// The pause after the broker was not reached.
const PAUSE: Duration = Duration::from_millis(100);

/// The time that a leader that ends takes to publish its final status.
const FAREWELL_WITHIN: Duration = Duration::from_secs(3);

/// The final status of a leader, for processes that come later.
#[derive(Clone, Debug, Default)]
pub struct LeaderFinalStatus(Arc<Mutex<Option<String>>>);

impl LeaderFinalStatus {
    /// Sets the text that is published at shutdown because everything is over.
    pub fn write(&self, text: impl Into<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(text.into());
    }

    fn read(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The leader's end of a link over mailboxes.
#[derive(Debug)]
pub struct MailboxServer {
    binding: MailboxServerBinding,
    key: MailboxKey,
    answering: MailboxResponder,
    final_status: LeaderFinalStatus,
    unread: Option<mpsc::Sender<UnreadableMessage>>,
}

impl MailboxServer {
    /// Binds a place, or returns the name of its holder. Workers get the id of the cluster, which separates what they
    /// remember of different clusters.
    pub async fn bind(
        (mailboxes, key): (Arc<dyn Mailboxes>, MailboxKey),
        terms: MailboxServerOptions,
        cluster: String,
        (handle, intake): (NodeHandle, LogIngest),
    ) -> Result<Self, MailboxServerError> {
        let binding = MailboxServerBinding::new(mailboxes, terms).await?;
        let answering = MailboxResponder { handle, intake, cluster, cancel_requests: None };
        Ok(Self {
            binding,
            key,
            answering,
            final_status: LeaderFinalStatus::default(),
            unread: None,
        })
    }

    /// Sends workers' requests to cancel the run to this channel.
    #[must_use]
    pub fn with_cancel_channel(mut self, cancels: mpsc::Sender<CancelLevel>) -> Self {
        self.answering.cancel_requests = Some(cancels);
        self
    }

    /// Reports unreadable messages to this function, the first of each kind.
    #[must_use]
    pub fn with_unread_channel(mut self, unread: mpsc::Sender<UnreadableMessage>) -> Self {
        self.unread = Some(unread);
        self
    }

    /// Returns the handle for the final status.
    pub fn final_status(&self) -> LeaderFinalStatus {
        self.final_status.clone()
    }

    /// Whether another process was bound there before. Steps that it granted may still run.
    pub const fn follows_another(&self) -> bool {
        self.binding.follows_another()
    }

    /// Returns a receiver of the time, on the clock of the binding, until which this process may act as the leader.
    /// Steps that it runs itself must have ended by then. Each renewal changes it. `None` once everything is over, so
    /// that nothing has to end.
    pub fn binding_valid_until(&self) -> watch::Receiver<Option<Time>> {
        self.binding.valid_until()
    }

    /// Answers until shutdown, or until it cannot continue.
    pub async fn run(self, mut shutdown: ShutdownReceiver) -> Result<(), MailboxServerError> {
        let (outbox, messages) = mpsc::channel(OUTBOX_MAX);
        let mut counter = MailboxServerLoop {
            epoch: self.binding.epoch,
            reader: MailboxReader::new(self.key.clone(), MailboxId::LEADER),
            key: self.key,
            unread: self.unread,
            noted: Vec::new(),
            answering: Arc::new(self.answering),
            seen: Arc::new(Mutex::new(SeenMailboxRequests::new(MAILBOXES_MAX))),
            under_way: JoinSet::new(),
            outbox,
            known_mailboxes: BTreeSet::new(),
        };
        let failed = tokio::select! {
            () = shutdown.wait() => None,
            () = outbox::send_all(&self.binding, messages) => None,
            error = self.binding.keep_renewed() => Some(error),
            error = counter.receive(&self.binding) => Some(error),
        };
        let final_status = self.final_status.read();
        if failed.is_none() && final_status.is_some() {
            self.binding.is_over();
        } else {
            self.binding.mark_expired();
        }
        if let Some(error) = failed {
            return Err(error);
        }
        drop(
            timeout(
                FAREWELL_WITHIN,
                counter.publish_final_status(&*self.binding.mailboxes, final_status),
            )
            .await,
        );
        Ok(())
    }
}

/// The receiving half of the server.
#[derive(Debug)]
struct MailboxServerLoop {
    epoch: BindingEpoch,
    key: MailboxKey,
    reader: MailboxReader,
    unread: Option<mpsc::Sender<UnreadableMessage>>,
    /// The kinds of unreadable messages that were reported.
    noted: Vec<Discriminant<UnreadableMessage>>,
    answering: Arc<MailboxResponder>,
    seen: Arc<Mutex<SeenMailboxRequests>>,
    under_way: JoinSet<()>,
    outbox: mpsc::Sender<Vec<MailboxMessage>>,
    known_mailboxes: BTreeSet<MailboxId>,
}

impl MailboxServerLoop {
    /// Answers every message, until nothing can be received any more.
    async fn receive(&mut self, binding: &MailboxServerBinding) -> MailboxServerError {
        loop {
            match binding.mailboxes.receive(MailboxId::LEADER, RECEIVES_FOR).await {
                Ok(messages) => messages.iter().for_each(|message| self.take(message)),
                // The binding decides how long this may go on.
                Err(error) if error.is_retryable() => sleep(PAUSE).await,
                Err(error) => return binding.failed(error),
            }
            while self.under_way.try_join_next().is_some() {}
            if lock(&self.seen).is_full() {
                let (place, mailboxes) = (binding.mailboxes.place(), MAILBOXES_MAX);
                return MailboxServerError::TooManyMailboxes { place, mailboxes };
            }
        }
    }

    fn take(&mut self, message: &[u8]) {
        let (request, ask) = match self.reader.read::<SignedMailboxRequest<MailboxRequest>>(message)
        {
            Ok(Some(read)) => read,
            Ok(None) => return,
            Err(unread) => return self.report_unread(unread),
        };
        if self.known_mailboxes.len() < KNOWN_MAILBOXES_MAX {
            self.known_mailboxes.insert(request.from);
        }
        if self.under_way.len() >= ANSWERING_MAX {
            return;
        }
        let (answering, outbox) = (Arc::clone(&self.answering), self.outbox.clone());
        let (epoch, key, taken) = (self.epoch, self.key.clone(), Arc::clone(&self.seen));
        self.under_way.spawn(async move {
            // A sender that claims to be another worker gets no answer: the other worker would receive it.
            let Some((signer, ask)) = ask.open(&request) else { return };
            // A request to another leader may have been carried out by it.
            let is_ours = request.epoch == epoch;
            let from = (worker_id_of(signer), request.from);
            // A copy of a message, which another program may have sent, is no sign of life of the worker.
            if is_ours && !lock(&taken).take(from, request.number) {
                return;
            }
            let answer =
                if is_ours { answering.answer(signer, ask).await } else { MailboxReply::Missent };
            let envelope =
                MessageEnvelope { epoch, from: MailboxId::LEADER, to: request.from, ..request };
            // An answer that is too large for a message is not sent; the worker can repeat its request.
            if let Ok(messages) = envelope.seal(&key, &answer) {
                drop(outbox.send(messages).await);
            }
        });
    }

    /// Reports the first unreadable message of each kind: an operator may have mistyped a secret.
    fn report_unread(&mut self, why: UnreadableMessage) {
        let (kind, unread) = (discriminant(&why), self.unread.as_ref());
        if let Some(unread) = unread.filter(|_| !self.noted.contains(&kind)) {
            self.noted.push(kind);
            let _ = unread.try_send(why);
        }
    }

    /// Gives the place up. If everything is over, all workers get the final status.
    async fn publish_final_status(self, mailboxes: &dyn Mailboxes, final_status: Option<String>) {
        let epoch = self.epoch;
        drop(mailboxes.unbind(epoch, final_status.clone()).await);
        let Some(final_status) = final_status else { return };
        let over = MailboxReply::Over(final_status);
        let message = |to: &MailboxId| {
            let envelope = MessageEnvelope { epoch, from: MailboxId::LEADER, to: *to, number: 0 };
            envelope.seal(&self.key, &over).unwrap_or_default()
        };
        let messages: Vec<MailboxMessage> = self.known_mailboxes.iter().flat_map(message).collect();
        outbox::send(mailboxes, messages).await;
    }
}

fn lock(taken: &Mutex<SeenMailboxRequests>) -> MutexGuard<'_, SeenMailboxRequests> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}
