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

use super::answering::Answering;
use super::binding::{Binding, PostError, Terms};
use super::outbox;
use super::taken::TakenQuestions;
use crate::controller::{Handle, Intake};
use crate::link::number_of;
use crate::link::post::{
    Answer, Ask, Envelope, Epoch, Key, Letter, Mailbox, Mailboxes, Reader, SignedAsk, Unread,
};
use crate::shutdown::Shutdown;

/// How long one call waits for letters.
const RECEIVES_FOR: Duration = Duration::from_secs(2);

/// Letters that are answered at a time: two exchanges, output and a report of every worker that a cluster may have. More
/// are dropped, and asked again.
const ANSWERING_MAX: usize = 4_096;

/// Answers that wait to leave.
const OUTBOX_MAX: usize = 256;

/// Mailboxes that are told when everything is over: more than a cluster has workers. Who is not told looks by itself.
const CORRESPONDENTS_MAX: usize = 4_096;

/// Mailboxes whose questions are remembered, 8 MiB: each start of a worker or a guard makes one. One more, and the place is
/// bound anew.
const MAILBOXES_MAX: usize = 65_536;

/// The pause after a place that was not reached.
const PAUSE: Duration = Duration::from_millis(100);

/// How long a leader that ends takes to say so.
const LEAVES_WITHIN: Duration = Duration::from_secs(3);

/// What a leader that ends leaves to those who come later.
#[derive(Clone, Debug, Default)]
pub struct Epitaph(Arc<Mutex<Option<String>>>);

impl Epitaph {
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
pub struct Desk {
    binding: Binding,
    key: Key,
    answering: Answering,
    epitaph: Epitaph,
    unread: Option<mpsc::Sender<Unread>>,
}

impl Desk {
    /// Binds a place, or says who has it. The id of the cluster is told to workers, who keep what they remember apart by
    /// it.
    pub async fn bind(
        (mailboxes, key): (Arc<dyn Mailboxes>, Key),
        terms: Terms,
        cluster: String,
        (handle, intake): (Handle, Intake),
    ) -> Result<Self, PostError> {
        let binding = Binding::new(mailboxes, terms).await?;
        let answering = Answering { handle, intake, cluster, wishes: None };
        Ok(Self { binding, key, answering, epitaph: Epitaph::default(), unread: None })
    }

    /// Tells when a worker wants the run to end that all are here for.
    #[must_use]
    pub fn obeying(mut self, wishes: mpsc::Sender<CancelLevel>) -> Self {
        self.answering.wishes = Some(wishes);
        self
    }

    /// Tells of letters that it cannot read, the first of each kind.
    #[must_use]
    pub fn noting(mut self, unread: mpsc::Sender<Unread>) -> Self {
        self.unread = Some(unread);
        self
    }

    /// Where to write what is left when everything is over.
    pub fn epitaph(&self) -> Epitaph {
        self.epitaph.clone()
    }

    /// Whether another process was bound there before, and may have granted what still runs.
    pub const fn follows_another(&self) -> bool {
        self.binding.follows_another()
    }

    /// Until when this process may act as the leader of the place, on the clock of its terms: what it runs itself must have
    /// ended by then. It changes with each renewal. Nothing once all is over, so that nothing has to end any more.
    pub fn acts_until(&self) -> watch::Receiver<Option<Time>> {
        self.binding.acts_until()
    }

    /// Answers until it is told to end, or cannot go on.
    pub async fn run(self, mut shutdown: Shutdown) -> Result<(), PostError> {
        let (outbox, letters) = mpsc::channel(OUTBOX_MAX);
        let mut counter = Counter {
            epoch: self.binding.epoch,
            reader: Reader::new(self.key.clone(), Mailbox::LEADER),
            key: self.key,
            unread: self.unread,
            noted: Vec::new(),
            answering: Arc::new(self.answering),
            taken: Arc::new(Mutex::new(TakenQuestions::new(MAILBOXES_MAX))),
            under_way: JoinSet::new(),
            outbox,
            correspondents: BTreeSet::new(),
        };
        let failed = tokio::select! {
            () = shutdown.wait() => None,
            () = outbox::send_all(&self.binding, letters) => None,
            error = self.binding.keep() => Some(error),
            error = counter.receive(&self.binding) => Some(error),
        };
        let epitaph = self.epitaph.read();
        if failed.is_none() && epitaph.is_some() {
            self.binding.is_over();
        } else {
            self.binding.acts_no_more();
        }
        if let Some(error) = failed {
            return Err(error);
        }
        drop(timeout(LEAVES_WITHIN, counter.leave(&*self.binding.mailboxes, epitaph)).await);
        Ok(())
    }
}

/// Where letters are taken in.
#[derive(Debug)]
struct Counter {
    epoch: Epoch,
    key: Key,
    reader: Reader,
    unread: Option<mpsc::Sender<Unread>>,
    /// What was told of letters that cannot be read.
    noted: Vec<Discriminant<Unread>>,
    answering: Arc<Answering>,
    taken: Arc<Mutex<TakenQuestions>>,
    under_way: JoinSet<()>,
    outbox: mpsc::Sender<Vec<Letter>>,
    correspondents: BTreeSet<Mailbox>,
}

impl Counter {
    /// Has every letter answered, until the place cannot be received from any more.
    async fn receive(&mut self, binding: &Binding) -> PostError {
        loop {
            match binding.mailboxes.receive(Mailbox::LEADER, RECEIVES_FOR).await {
                Ok(letters) => letters.iter().for_each(|letter| self.take(letter)),
                // How long that may go on is for the binding to say.
                Err(error) if error.is_retryable() => sleep(PAUSE).await,
                Err(error) => return binding.failed(error),
            }
            while self.under_way.try_join_next().is_some() {}
            if lock(&self.taken).is_full() {
                let (place, mailboxes) = (binding.mailboxes.place(), MAILBOXES_MAX);
                return PostError::TooManyMailboxes { place, mailboxes };
            }
        }
    }

    fn take(&mut self, letter: &[u8]) {
        let (asked, ask) = match self.reader.read::<SignedAsk<Ask>>(letter) {
            Ok(Some(read)) => read,
            Ok(None) => return,
            Err(unread) => return self.note(unread),
        };
        if self.correspondents.len() < CORRESPONDENTS_MAX {
            self.correspondents.insert(asked.from);
        }
        if self.under_way.len() >= ANSWERING_MAX {
            return;
        }
        let (answering, outbox) = (Arc::clone(&self.answering), self.outbox.clone());
        let (epoch, key, taken) = (self.epoch, self.key.clone(), Arc::clone(&self.taken));
        self.under_way.spawn(async move {
            // A sender that claims to be another worker gets no answer: an answer would go to that one.
            let Some((signer, ask)) = ask.open(&asked) else { return };
            // It was meant for another leader, who may have done it.
            let is_ours = asked.epoch == epoch;
            let from = (number_of(signer), asked.from);
            // A copy of a letter, which another program may have made of it, is no sign of the worker.
            if is_ours && !lock(&taken).take(from, asked.number) {
                return;
            }
            let answer =
                if is_ours { answering.answer(signer, ask).await } else { Answer::Missent };
            let envelope = Envelope { epoch, from: Mailbox::LEADER, to: asked.from, ..asked };
            // What is too large for letters is not; whoever asked may ask again.
            if let Ok(letters) = envelope.seal(&key, &answer) {
                drop(outbox.send(letters).await);
            }
        });
    }

    /// What cannot be read is as good as lost, but whoever runs this may have mistyped a secret: each kind is told once.
    fn note(&mut self, why: Unread) {
        let (kind, unread) = (discriminant(&why), self.unread.as_ref());
        if let Some(unread) = unread.filter(|_| !self.noted.contains(&kind)) {
            self.noted.push(kind);
            let _ = unread.try_send(why);
        }
    }

    /// Gives the place up. If everything is over, everybody is told.
    async fn leave(self, mailboxes: &dyn Mailboxes, epitaph: Option<String>) {
        let epoch = self.epoch;
        drop(mailboxes.unbind(epoch, epitaph.clone()).await);
        let Some(epitaph) = epitaph else { return };
        let over = Answer::Over(epitaph);
        let letter = |to: &Mailbox| {
            let envelope = Envelope { epoch, from: Mailbox::LEADER, to: *to, number: 0 };
            envelope.seal(&self.key, &over).unwrap_or_default()
        };
        let letters: Vec<Letter> = self.correspondents.iter().flat_map(letter).collect();
        outbox::send(mailboxes, letters).await;
    }
}

fn lock(taken: &Mutex<TakenQuestions>) -> MutexGuard<'_, TakenQuestions> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}
