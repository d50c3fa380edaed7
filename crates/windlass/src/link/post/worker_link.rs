//! A worker's end.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};
use windlass_core::engine::CancelLevel;
use windlass_core::id::{Fence, Incarnation};
use windlass_core::session::{Exchange, LeaseRef, Refusal, Register, Registered, Reply};

use super::envelope::{Envelope, Key};
use super::mailboxes::{Epoch, MailError, Mailbox, Mailboxes};
use super::message::{Answer, Ask};
use super::reading::Reader;
use super::signed::SignedAsk;
use super::waiting::Waiting;
use crate::link::identity::random;
use crate::link::output::{LogChunk, LogsTaken, Ships};
use crate::link::{Carried, Link, LinkError, WorkerSecret};
use crate::logs::{LogId, LogPart};
use crate::shutdown::Shutdown;

/// How long an answer that is not parked may take, all its repetitions included.
const WITHIN: Duration = Duration::from_secs(10);

/// When a question without an answer is asked again: letters get lost. Long beside a round trip, short beside a lease.
const AGAIN: Duration = Duration::from_secs(1);

/// How long an exchange may be parked. It is not asked again here: the session sends the next when this one is overdue.
const PARKED_WITHIN: Duration = Duration::from_mins(1);

/// How long silence lasts before it is looked whether the leader is still there. A leader answers every few seconds.
const SILENCE: Duration = Duration::from_secs(2);

/// The pause after a place that was not reached.
const PAUSE: Duration = Duration::from_millis(250);

/// A worker's end of a link through mailboxes. A clone is the same end.
#[derive(Clone, Debug)]
pub struct PostLink(Arc<End>);

#[derive(Debug)]
struct End {
    mailboxes: Arc<dyn Mailboxes>,
    key: Key,
    own: Mailbox,
    /// Signs each question.
    secret: WorkerSecret,
    waiting: Waiting,
}

/// What a leader says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Led {
    /// Which cluster it leads.
    pub cluster: String,
    /// The version of its windlass.
    pub version: String,
}

/// Receives what a [`PostLink`] waits for.
#[derive(Debug)]
pub struct Postman(PostLink);

impl PostLink {
    /// The end of a worker, and what has to run for it to hear anything.
    pub fn new(
        mailboxes: Arc<dyn Mailboxes>,
        key: Key,
        worker: &WorkerSecret,
    ) -> std::io::Result<(Self, Postman)> {
        let secret = worker.clone();
        let chance = random()?;
        let own = u64::from_le_bytes(chance[..8].try_into().expect("there are 32 bytes"));
        // Small numbers are for those that everybody knows.
        let own = Mailbox(own | 1 << 32);
        let end = Self(Arc::new(End { mailboxes, key, own, secret, waiting: Waiting::default() }));
        Ok((end.clone(), Postman(end)))
    }

    /// Asks which cluster is led here.
    pub async fn hello(&self) -> Result<Led, LinkError> {
        match self.0.ask(&Ask::Hello, WITHIN, Some(AGAIN)).await? {
            Answer::Hello { cluster, version } => Ok(Led { cluster, version }),
            other => Err(self.0.nonsense(&other)),
        }
    }

    /// Tells the leader that nothing of a life of this worker is left, but perhaps outcomes of what was started.
    pub async fn ended(
        &self,
        incarnation: Incarnation,
        started: Vec<Fence>,
    ) -> Result<(), LinkError> {
        let ended = Ask::Ended { incarnation, started };
        match self.0.ask(&ended, WITHIN, Some(AGAIN)).await? {
            Answer::Heard => Ok(()),
            other => Err(self.0.nonsense(&other)),
        }
    }

    /// Asks the leader to end the run that all are here for. One that leads a cluster does not.
    pub async fn cancel(&self, level: CancelLevel) -> Result<(), LinkError> {
        let cancel = Ask::Cancel { kill: level == CancelLevel::Kill };
        match self.0.ask(&cancel, WITHIN, Some(AGAIN)).await? {
            Answer::Heard => Ok(()),
            other => Err(self.0.nonsense(&other)),
        }
    }
}

impl Link for PostLink {
    fn register(&self, register: Register) -> Carried<'_, Result<Registered, Refusal>> {
        Box::pin(async move {
            let join = Ask::Join(Box::new(register));
            match self.0.ask(&join, WITHIN, Some(AGAIN)).await? {
                Answer::Joined(told) => Ok(told),
                other => Err(self.0.nonsense(&other)),
            }
        })
    }

    fn exchange(&self, exchange: Exchange) -> Carried<'_, Reply> {
        Box::pin(async move {
            let exchange = Ask::Exchange(exchange);
            match self.0.ask(&exchange, PARKED_WITHIN, None).await? {
                Answer::Replied(reply) => Ok(*reply),
                other => Err(self.0.nonsense(&other)),
            }
        })
    }

    fn cancel_run(&self, lease: LeaseRef) -> Carried<'_, ()> {
        Box::pin(async move {
            let cancel = Ask::CancelRun(lease);
            match self.0.ask(&cancel, WITHIN, Some(AGAIN)).await? {
                Answer::Heard => Ok(()),
                other => Err(self.0.nonsense(&other)),
            }
        })
    }
}

impl Ships for PostLink {
    fn ship(&self, pieces: Vec<LogChunk>) -> Carried<'_, LogsTaken> {
        Box::pin(async move {
            let logs = Ask::Logs(pieces);
            match self.0.ask(&logs, WITHIN, Some(AGAIN)).await? {
                Answer::Taken(taken) => Ok(taken),
                other => Err(self.0.nonsense(&other)),
            }
        })
    }

    fn fetch(&self, value: LogId, from: u64) -> Carried<'_, LogPart> {
        Box::pin(async move {
            let fetch = Ask::Fetch { value, from };
            match self.0.ask(&fetch, WITHIN, Some(AGAIN)).await? {
                Answer::Fetched(part) => Ok(part),
                other => Err(self.0.nonsense(&other)),
            }
        })
    }
}

impl End {
    /// Asks the leader, again and again if it is said how often, until it answers or it has taken too long.
    async fn ask(
        &self,
        ask: &Ask,
        within: Duration,
        again: Option<Duration>,
    ) -> Result<Answer, LinkError> {
        let late = Instant::now() + within;
        loop {
            match self.ask_once(ask, late, again).await? {
                Some(Answer::NotNow) => return Err(LinkError::NotLeader(self.mailboxes.place())),
                Some(Answer::Denied(reason)) => {
                    return Err(LinkError::Denied { place: self.mailboxes.place(), reason });
                }
                // Another leads now, and the next letter is for that one.
                Some(Answer::Missent) | None => {}
                Some(answer) => return Ok(answer),
            }
            if Instant::now() >= late {
                let reason = format!("no answer for {} s", within.as_secs());
                return Err(self.unreachable(reason));
            }
        }
    }

    /// One letter, and its answer if it comes in time.
    async fn ask_once(
        &self,
        ask: &Ask,
        late: Instant,
        again: Option<Duration>,
    ) -> Result<Option<Answer>, LinkError> {
        let epoch = self.epoch().await?;
        let (number, answered) = self.waiting.ask()?;
        let _forgets = Forgets { waiting: &self.waiting, number };
        let envelope = Envelope { epoch, from: self.own, to: Mailbox::LEADER, number };
        let signed = SignedAsk::new(ask, &envelope, &self.secret);
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
    async fn epoch(&self) -> Result<Epoch, LinkError> {
        if self.waiting.epoch()? == Epoch::default() {
            self.look().await?;
        }
        match self.waiting.epoch()? {
            Epoch(0) => Err(self.unreachable("nobody leads there yet".to_owned())),
            epoch => Ok(epoch),
        }
    }

    async fn look(&self) -> Result<(), LinkError> {
        let standing = self.mailboxes.look().await.map_err(|error| self.failed(error))?;
        self.waiting.looked(&self.mailboxes.place(), standing);
        Ok(())
    }

    /// What a failure of the mailboxes means for whoever asks.
    fn failed(&self, error: MailError) -> LinkError {
        match error {
            MailError::Full { .. } | MailError::Unreachable { .. } => {
                self.unreachable(error.to_string())
            }
            MailError::Over { epitaph } => LinkError::Over(epitaph),
            error => LinkError::Gone(error.to_string()),
        }
    }

    fn unreachable(&self, reason: String) -> LinkError {
        LinkError::Unreachable { place: self.mailboxes.place(), reason }
    }

    fn nonsense(&self, answer: &Answer) -> LinkError {
        self.unreachable(format!("its answer makes no sense: {answer:?}"))
    }

    fn take(&self, reader: &mut Reader, letters: Vec<Vec<u8>>) {
        for letter in letters {
            // What cannot be read is as good as lost.
            if let Ok(Some((envelope, answer))) = reader.read(&letter) {
                self.waiting.answered(envelope.epoch, envelope.number, answer);
            }
        }
    }
}

impl Postman {
    /// Receives until it is told to end.
    pub async fn run(self, mut shutdown: Shutdown) {
        tokio::select! {
            () = shutdown.wait() => {}
            () = self.receive() => {}
        }
    }

    async fn receive(&self) {
        let end = &*self.0.0;
        let mut reader = Reader::new(end.key.clone(), end.own);
        loop {
            match end.mailboxes.receive(end.own, SILENCE).await {
                Ok(letters) if letters.is_empty() => self.silent().await,
                Ok(letters) => end.take(&mut reader, letters),
                Err(error) => self.failed(error).await,
            }
        }
    }

    /// Nothing has come for a while: the leader may have gone, or another come.
    async fn silent(&self) {
        // A place that cannot be looked at cannot be received from either, and that is told.
        drop(self.0.0.look().await);
    }

    async fn failed(&self, error: MailError) {
        let why = self.0.0.failed(error);
        if why.is_final() {
            self.0.0.waiting.end(why);
            return pending().await;
        }
        self.0.0.waiting.fail(&why);
        sleep(PAUSE).await;
    }
}

/// Takes a question back, whatever became of it.
struct Forgets<'a> {
    waiting: &'a Waiting,
    number: u64,
}

impl Drop for Forgets<'_> {
    fn drop(&mut self) {
        self.waiting.forget(self.number);
    }
}
