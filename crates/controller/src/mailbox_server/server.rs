//! A leader that receives letters, and answers them.

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

/// How long one call waits for letters.
const RECEIVES_FOR: Duration = Duration::from_secs(2);

/// Letters that are answered at a time: two exchanges, output and a report of every worker that a cluster may have. More
/// are dropped, and asked again.
const ANSWERING_MAX: usize = 4_096;

/// Answers that wait to leave.
const OUTBOX_MAX: usize = 256;

/// Mailboxes that are told when everything is over: more than a cluster has workers. Who is not told looks by itself.
const KNOWN_MAILBOXES_MAX: usize = 4_096;

/// Mailboxes whose questions are remembered, 8 MiB: each start of a worker or a guard makes one. One more, and the place is
/// bound anew.
const MAILBOXES_MAX: usize = 65_536;

/// The pause after a place that was not reached.
const PAUSE: Duration = Duration::from_millis(100);

/// How long a leader that ends takes to say so.
const FAREWELL_WITHIN: Duration = Duration::from_secs(3);

/// What a leader that ends leaves to those who come later.
#[derive(Clone, Debug, Default)]
pub struct LeaderFinalStatus(Arc<Mutex<Option<String>>>);

impl LeaderFinalStatus {
    /// Everything is over: this is left when the desk is told to end.
    pub fn write(&self, text: impl Into<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(text.into());
    }

    fn read(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The leader's end of a link through mailboxes.
#[derive(Debug)]
pub struct MailboxServer {
    binding: MailboxServerBinding,
    key: MailboxKey,
    answering: MailboxResponder,
    final_status: LeaderFinalStatus,
    unread: Option<mpsc::Sender<UnreadableMessage>>,
}

impl MailboxServer {
    /// Binds a place, or says who has it. The id of the cluster is told to workers, who keep what they remember apart by
    /// it.
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

    /// Tells when a worker wants the run to end that all are here for.
    #[must_use]
    pub fn with_cancel_channel(mut self, wishes: mpsc::Sender<CancelLevel>) -> Self {
        self.answering.cancel_requests = Some(wishes);
        self
    }

    /// Tells of letters that it cannot read, the first of each kind.
    #[must_use]
    pub fn with_unread_channel(mut self, unread: mpsc::Sender<UnreadableMessage>) -> Self {
        self.unread = Some(unread);
        self
    }

    /// Where to write what is left when everything is over.
    pub fn final_status(&self) -> LeaderFinalStatus {
        self.final_status.clone()
    }

    /// Whether another process was bound there before, and may have granted what still runs.
    pub const fn follows_another(&self) -> bool {
        self.binding.follows_another()
    }

    /// Until when this process may act as the leader of the place, on the clock of its terms: what it runs itself must have
    /// ended by then. It changes with each renewal. Nothing once all is over, so that nothing has to end any more.
    pub fn binding_valid_until(&self) -> watch::Receiver<Option<Time>> {
        self.binding.valid_until()
    }

    /// Answers until it is told to end, or cannot go on.
    pub async fn run(self, mut shutdown: ShutdownReceiver) -> Result<(), MailboxServerError> {
        let (outbox, letters) = mpsc::channel(OUTBOX_MAX);
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
            () = outbox::send_all(&self.binding, letters) => None,
            error = self.binding.keep_renewed() => Some(error),
            error = counter.receive(&self.binding) => Some(error),
        };
        let epitaph = self.final_status.read();
        if failed.is_none() && epitaph.is_some() {
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
                counter.publish_final_status(&*self.binding.mailboxes, epitaph),
            )
            .await,
        );
        Ok(())
    }
}

/// Where letters are taken in.
#[derive(Debug)]
struct MailboxServerLoop {
    epoch: BindingEpoch,
    key: MailboxKey,
    reader: MailboxReader,
    unread: Option<mpsc::Sender<UnreadableMessage>>,
    /// What was told of letters that cannot be read.
    noted: Vec<Discriminant<UnreadableMessage>>,
    answering: Arc<MailboxResponder>,
    seen: Arc<Mutex<SeenMailboxRequests>>,
    under_way: JoinSet<()>,
    outbox: mpsc::Sender<Vec<MailboxMessage>>,
    known_mailboxes: BTreeSet<MailboxId>,
}

impl MailboxServerLoop {
    /// Has every letter answered, until the place cannot be received from any more.
    async fn receive(&mut self, binding: &MailboxServerBinding) -> MailboxServerError {
        loop {
            match binding.mailboxes.receive(MailboxId::LEADER, RECEIVES_FOR).await {
                Ok(letters) => letters.iter().for_each(|letter| self.take(letter)),
                // How long that may go on is for the binding to say.
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

    fn take(&mut self, letter: &[u8]) {
        let (asked, ask) = match self.reader.read::<SignedMailboxRequest<MailboxRequest>>(letter) {
            Ok(Some(read)) => read,
            Ok(None) => return,
            Err(unread) => return self.report_unread(unread),
        };
        if self.known_mailboxes.len() < KNOWN_MAILBOXES_MAX {
            self.known_mailboxes.insert(asked.from);
        }
        if self.under_way.len() >= ANSWERING_MAX {
            return;
        }
        let (answering, outbox) = (Arc::clone(&self.answering), self.outbox.clone());
        let (epoch, key, taken) = (self.epoch, self.key.clone(), Arc::clone(&self.seen));
        self.under_way.spawn(async move {
            // A sender that claims to be another worker gets no answer: an answer would go to that one.
            let Some((signer, ask)) = ask.open(&asked) else { return };
            // It was meant for another leader, who may have done it.
            let is_ours = asked.epoch == epoch;
            let from = (worker_id_of(signer), asked.from);
            // A copy of a letter, which another program may have made of it, is no sign of the worker.
            if is_ours && !lock(&taken).take(from, asked.number) {
                return;
            }
            let answer =
                if is_ours { answering.answer(signer, ask).await } else { MailboxReply::Missent };
            let envelope =
                MessageEnvelope { epoch, from: MailboxId::LEADER, to: asked.from, ..asked };
            // What is too large for letters is not; whoever asked may ask again.
            if let Ok(letters) = envelope.seal(&key, &answer) {
                drop(outbox.send(letters).await);
            }
        });
    }

    /// What cannot be read is as good as lost, but whoever runs this may have mistyped a secret: each kind is told once.
    fn report_unread(&mut self, why: UnreadableMessage) {
        let (kind, unread) = (discriminant(&why), self.unread.as_ref());
        if let Some(unread) = unread.filter(|_| !self.noted.contains(&kind)) {
            self.noted.push(kind);
            let _ = unread.try_send(why);
        }
    }

    /// Gives the place up. If everything is over, everybody is told.
    async fn publish_final_status(self, mailboxes: &dyn Mailboxes, epitaph: Option<String>) {
        let epoch = self.epoch;
        drop(mailboxes.unbind(epoch, epitaph.clone()).await);
        let Some(epitaph) = epitaph else { return };
        let over = MailboxReply::Over(epitaph);
        let letter = |to: &MailboxId| {
            let envelope = MessageEnvelope { epoch, from: MailboxId::LEADER, to: *to, number: 0 };
            envelope.seal(&self.key, &over).unwrap_or_default()
        };
        let letters: Vec<MailboxMessage> = self.known_mailboxes.iter().flat_map(letter).collect();
        outbox::send(mailboxes, letters).await;
    }
}

fn lock(taken: &Mutex<SeenMailboxRequests>) -> MutexGuard<'_, SeenMailboxRequests> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}
