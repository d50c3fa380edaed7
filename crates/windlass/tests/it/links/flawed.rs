//! Mailboxes that break one promise on request.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use windlass_link::mailbox::{
    BindingEpoch, MAILBOX_MESSAGE_MAX, MailboxBinding, MailboxError, MailboxFuture, MailboxId,
    MailboxMessage, Mailboxes, MemoryMailboxes,
};

/// A promise that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MailboxFlaw {
    BindsEverybody,
    BindsBehindEpitaphs,
    CutsMessages,
    ForgetsEpitaphs,
    ReturnsEverything,
    ReturnsTwice,
    HasNoBound,
    HoldsWhatWasGivenUp,
    IsFullForEveryMailbox,
    KeepsWhatHasPassed,
    KeepsWhatNeverWas,
    LapsesThoughItIsKept,
    LeavesEpitaphsOfOthers,
    LosesMessages,
    MixesMailboxes,
    NamesNobody,
    NeedsAReader,
    NeverLapses,
    NeverWaits,
    Oversleeps,
    ReadsMessagesAsText,
    RepeatsEpochs,
    SendsTheFirstOnly,
    SleepsOn,
    SwallowsLargeMessages,
    UnbindsForOthers,
}

impl MailboxFlaw {
    pub(super) const ALL: [Self; 26] = [
        Self::BindsEverybody,
        Self::BindsBehindEpitaphs,
        Self::CutsMessages,
        Self::ForgetsEpitaphs,
        Self::ReturnsEverything,
        Self::ReturnsTwice,
        Self::HasNoBound,
        Self::HoldsWhatWasGivenUp,
        Self::IsFullForEveryMailbox,
        Self::KeepsWhatHasPassed,
        Self::KeepsWhatNeverWas,
        Self::LapsesThoughItIsKept,
        Self::LeavesEpitaphsOfOthers,
        Self::LosesMessages,
        Self::MixesMailboxes,
        Self::NamesNobody,
        Self::NeedsAReader,
        Self::NeverLapses,
        Self::NeverWaits,
        Self::Oversleeps,
        Self::ReadsMessagesAsText,
        Self::RepeatsEpochs,
        Self::SendsTheFirstOnly,
        Self::SleepsOn,
        Self::SwallowsLargeMessages,
        Self::UnbindsForOthers,
    ];

    /// Returns the check that detects this flaw; other checks may fail too.
    pub(super) const fn found_by(self) -> &'static str {
        match self {
            Self::BindsEverybody | Self::NamesNobody => {
                "mailbox_binding::second_bind_is_refused_with_the_holder"
            }
            Self::BindsBehindEpitaphs => "mailbox_binding::no_leader_is_bound_after_a_final_status",
            Self::CutsMessages | Self::ReadsMessagesAsText => {
                "messages::every_byte_and_size_arrives"
            }
            Self::ForgetsEpitaphs => "mailbox_binding::a_final_status_is_read_by_every_handle",
            Self::ReturnsEverything => "messages::of_many_messages_a_bounded_part_is_taken",
            Self::ReturnsTwice => "messages::what_was_taken_is_gone",
            Self::HasNoBound => "full_mailbox::an_unread_mailbox_fills_up",
            Self::HoldsWhatWasGivenUp => "mailbox_binding::a_binding_given_up_is_free_at_once",
            Self::IsFullForEveryMailbox => "full_mailbox::a_full_mailbox_blocks_no_other_mailbox",
            Self::KeepsWhatHasPassed => "mailbox_binding::a_passed_binding_is_not_kept",
            Self::KeepsWhatNeverWas => "mailbox_binding::an_epoch_that_never_was_is_gone",
            Self::LapsesThoughItIsKept => "mailbox_binding::a_binding_that_is_kept_lasts",
            Self::LeavesEpitaphsOfOthers => {
                "mailbox_binding::a_passed_binding_leaves_no_final_status"
            }
            Self::LosesMessages => "messages::messages_of_many_senders_all_arrive",
            Self::MixesMailboxes => "messages::mailboxes_are_apart",
            Self::NeedsAReader => "messages::a_message_without_a_reader_waits",
            Self::NeverLapses => "mailbox_binding::a_binding_lapses_with_its_term",
            Self::NeverWaits | Self::Oversleeps => "messages::waiting_ends_at_its_deadline",
            Self::RepeatsEpochs => "mailbox_binding::an_epoch_never_repeats",
            Self::SendsTheFirstOnly => "messages::messages_to_several_mailboxes_all_arrive",
            Self::SleepsOn => "messages::a_waiting_reader_is_woken",
            Self::SwallowsLargeMessages => "messages::a_message_that_is_too_large_is_refused",
            Self::UnbindsForOthers => "mailbox_binding::a_passed_binding_gives_up_nothing",
        }
    }
}

/// Mailboxes with a flaw, or without.
#[derive(Clone, Debug)]
pub(super) struct FlawedMailboxes(Arc<FlawedMailboxStore>);

#[derive(Debug)]
struct FlawedMailboxStore {
    sound: MemoryMailboxes,
    flaw: Option<MailboxFlaw>,
    sent: AtomicUsize,
    was_full: AtomicBool,
    readers: Mutex<BTreeSet<MailboxId>>,
}

impl FlawedMailboxes {
    pub(super) fn new(flaw: Option<MailboxFlaw>) -> Self {
        Self(Arc::new(FlawedMailboxStore {
            sound: MemoryMailboxes::new(),
            flaw,
            sent: AtomicUsize::new(0),
            was_full: AtomicBool::new(false),
            readers: Mutex::default(),
        }))
    }

    fn has(&self, flaw: MailboxFlaw) -> bool {
        self.0.flaw == Some(flaw)
    }

    fn term(&self, term: Duration) -> Duration {
        if self.has(MailboxFlaw::NeverLapses) { Duration::from_hours(1) } else { term }
    }

    async fn bind_it(&self, by: String, term: Duration) -> Result<BindingEpoch, MailboxError> {
        let bound = self.0.sound.bind(by, self.term(term)).await;
        let now = self.0.sound.binding().await?.epoch;
        match bound {
            Err(MailboxError::AlreadyLed { .. }) if self.has(MailboxFlaw::BindsEverybody) => {
                Ok(now)
            }
            Err(MailboxError::AlreadyLed { .. }) if self.has(MailboxFlaw::NamesNobody) => {
                Err(MailboxError::AlreadyLed { by: String::new() })
            }
            Err(MailboxError::Finished { .. }) if self.has(MailboxFlaw::BindsBehindEpitaphs) => {
                Ok(now)
            }
            Ok(_) if self.has(MailboxFlaw::RepeatsEpochs) => Ok(BindingEpoch(1)),
            bound => bound,
        }
    }

    async fn keep_it(&self, epoch: BindingEpoch, term: Duration) -> Result<(), MailboxError> {
        if self.has(MailboxFlaw::LapsesThoughItIsKept) {
            return Ok(());
        }
        match self.0.sound.renew(epoch, self.term(term)).await {
            Err(MailboxError::Deposed { .. }) if self.has(MailboxFlaw::KeepsWhatHasPassed) => {
                Ok(())
            }
            Err(MailboxError::StateLost { .. }) if self.has(MailboxFlaw::KeepsWhatNeverWas) => {
                Ok(())
            }
            kept => kept,
        }
    }

    async fn unbind_it(
        &self,
        epoch: BindingEpoch,
        final_status: Option<String>,
    ) -> Result<(), MailboxError> {
        let now = self.0.sound.binding().await?.epoch;
        let final_status = final_status.filter(|_| !self.has(MailboxFlaw::ForgetsEpitaphs));
        if self.has(MailboxFlaw::HoldsWhatWasGivenUp) && final_status.is_none() {
            return Ok(());
        }
        let for_others = self.has(MailboxFlaw::UnbindsForOthers)
            || self.has(MailboxFlaw::LeavesEpitaphsOfOthers) && final_status.is_some();
        self.0.sound.unbind(if for_others { now } else { epoch }, final_status).await
    }

    /// The fate of a message.
    fn spoil(&self, mut message: MailboxMessage) -> Option<MailboxMessage> {
        let number = self.0.sent.fetch_add(1, Ordering::SeqCst);
        match self.0.flaw? {
            MailboxFlaw::CutsMessages => message.bytes.truncate(4_096),
            MailboxFlaw::ReadsMessagesAsText => {
                message.bytes = String::from_utf8_lossy(&message.bytes).into_owned().into_bytes();
                message.bytes.truncate(MAILBOX_MESSAGE_MAX);
            }
            MailboxFlaw::MixesMailboxes => message.to = MailboxId(1),
            MailboxFlaw::LosesMessages if number % 7 == 6 => return None,
            MailboxFlaw::SwallowsLargeMessages if message.bytes.len() > MAILBOX_MESSAGE_MAX => {
                return None;
            }
            MailboxFlaw::NeedsAReader => {
                let readers = self.0.readers.lock().expect("nobody panics");
                return readers.contains(&message.to).then_some(message);
            }
            _ => {}
        }
        Some(message)
    }

    async fn put(&self, mut messages: Vec<MailboxMessage>) -> Result<(), MailboxError> {
        if self.has(MailboxFlaw::SendsTheFirstOnly) {
            messages.truncate(1);
        }
        if self.0.flaw.is_some() {
            messages = messages.into_iter().filter_map(|message| self.spoil(message)).collect();
        }
        let full = || {
            let (place, reason) = (self.place(), "it was full once".to_owned());
            Err(MailboxError::Full { place, reason })
        };
        if self.has(MailboxFlaw::IsFullForEveryMailbox) && self.0.was_full.load(Ordering::SeqCst) {
            return full();
        }
        match self.0.sound.send(messages).await {
            Err(MailboxError::Full { .. }) if self.has(MailboxFlaw::HasNoBound) => Ok(()),
            Err(error @ MailboxError::Full { .. }) => {
                self.0.was_full.store(true, Ordering::SeqCst);
                Err(error)
            }
            sent => sent,
        }
    }

    async fn take(
        &self,
        mailbox: MailboxId,
        within: Duration,
    ) -> Result<Vec<Vec<u8>>, MailboxError> {
        self.0.readers.lock().expect("nobody panics").insert(mailbox);
        let sound = &self.0.sound;
        match self.0.flaw {
            Some(MailboxFlaw::MixesMailboxes) => sound.receive(MailboxId(1), within).await,
            Some(MailboxFlaw::NeverWaits) => sound.receive(mailbox, Duration::ZERO).await,
            Some(MailboxFlaw::Oversleeps) => {
                sound.receive(mailbox, within + Duration::from_secs(3)).await
            }
            Some(MailboxFlaw::SleepsOn) => {
                tokio::time::sleep(within).await;
                sound.receive(mailbox, Duration::ZERO).await
            }
            Some(MailboxFlaw::ReturnsTwice) => {
                let messages = sound.receive(mailbox, within).await?;
                let again =
                    messages.iter().map(|it| MailboxMessage { to: mailbox, bytes: it.clone() });
                sound.send(again.collect()).await?;
                Ok(messages)
            }
            Some(MailboxFlaw::ReturnsEverything) => {
                let mut messages = sound.receive(mailbox, within).await?;
                messages.extend(sound.receive(mailbox, Duration::ZERO).await?);
                Ok(messages)
            }
            _ => sound.receive(mailbox, within).await,
        }
    }
}

impl Mailboxes for FlawedMailboxes {
    fn place(&self) -> String {
        "a flawed place".to_owned()
    }

    fn bind(&self, by: String, term: Duration) -> MailboxFuture<'_, BindingEpoch> {
        Box::pin(self.bind_it(by, term))
    }

    fn renew(&self, epoch: BindingEpoch, term: Duration) -> MailboxFuture<'_, ()> {
        Box::pin(self.keep_it(epoch, term))
    }

    fn unbind(&self, epoch: BindingEpoch, final_status: Option<String>) -> MailboxFuture<'_, ()> {
        Box::pin(self.unbind_it(epoch, final_status))
    }

    fn binding(&self) -> MailboxFuture<'_, MailboxBinding> {
        self.0.sound.binding()
    }

    fn send(&self, messages: Vec<MailboxMessage>) -> MailboxFuture<'_, ()> {
        Box::pin(self.put(messages))
    }

    fn receive(&self, mailbox: MailboxId, within: Duration) -> MailboxFuture<'_, Vec<Vec<u8>>> {
        Box::pin(self.take(mailbox, within))
    }
}
