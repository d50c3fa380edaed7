//! Mailboxes that break one promise if they are told to.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use windlass::link::post::{
    Epoch, LETTER_MAX, Letter, MailError, Mailbox, Mailboxes, Mailed, MemoryMailboxes, Standing,
};

/// A promise that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    BindsEverybody,
    BindsBehindEpitaphs,
    CutsLetters,
    ForgetsEpitaphs,
    HandsOverEverything,
    HandsOverTwice,
    HasNoBound,
    HoldsWhatWasGivenUp,
    IsFullForEverybody,
    KeepsWhatHasPassed,
    KeepsWhatNeverWas,
    LapsesThoughItIsKept,
    LeavesEpitaphsOfOthers,
    LosesLetters,
    MixesMailboxes,
    NamesNobody,
    NeedsAReader,
    NeverLapses,
    NeverWaits,
    Oversleeps,
    ReadsLettersAsText,
    RepeatsEpochs,
    SendsTheFirstOnly,
    SleepsOn,
    SwallowsLargeLetters,
    UnbindsForOthers,
}

impl Flaw {
    pub(super) const ALL: [Self; 26] = [
        Self::BindsEverybody,
        Self::BindsBehindEpitaphs,
        Self::CutsLetters,
        Self::ForgetsEpitaphs,
        Self::HandsOverEverything,
        Self::HandsOverTwice,
        Self::HasNoBound,
        Self::HoldsWhatWasGivenUp,
        Self::IsFullForEverybody,
        Self::KeepsWhatHasPassed,
        Self::KeepsWhatNeverWas,
        Self::LapsesThoughItIsKept,
        Self::LeavesEpitaphsOfOthers,
        Self::LosesLetters,
        Self::MixesMailboxes,
        Self::NamesNobody,
        Self::NeedsAReader,
        Self::NeverLapses,
        Self::NeverWaits,
        Self::Oversleeps,
        Self::ReadsLettersAsText,
        Self::RepeatsEpochs,
        Self::SendsTheFirstOnly,
        Self::SleepsOn,
        Self::SwallowsLargeLetters,
        Self::UnbindsForOthers,
    ];

    /// The check that is there for it; others may fail too.
    pub(super) const fn found_by(self) -> &'static str {
        match self {
            Self::BindsEverybody | Self::NamesNobody => {
                "binding::a_second_is_refused_and_told_by_whom"
            }
            Self::BindsBehindEpitaphs => "binding::nobody_is_bound_behind_an_epitaph",
            Self::CutsLetters | Self::ReadsLettersAsText => "letters::every_byte_and_size_arrives",
            Self::ForgetsEpitaphs => "binding::an_epitaph_is_read_by_everybody",
            Self::HandsOverEverything => "letters::of_many_letters_a_bounded_part_is_taken",
            Self::HandsOverTwice => "letters::what_was_taken_is_gone",
            Self::HasNoBound => "letters::a_mailbox_that_nobody_reads_fills_up",
            Self::HoldsWhatWasGivenUp => "binding::a_binding_given_up_is_free_at_once",
            Self::IsFullForEverybody => "letters::a_full_mailbox_keeps_nobody_elses_letters",
            Self::KeepsWhatHasPassed => "binding::a_passed_binding_is_not_kept",
            Self::KeepsWhatNeverWas => "binding::an_epoch_that_never_was_is_gone",
            Self::LapsesThoughItIsKept => "binding::a_binding_that_is_kept_lasts",
            Self::LeavesEpitaphsOfOthers => "binding::a_passed_binding_leaves_no_epitaph",
            Self::LosesLetters => "letters::letters_of_many_senders_all_arrive",
            Self::MixesMailboxes => "letters::mailboxes_are_apart",
            Self::NeedsAReader => "letters::a_letter_to_nobody_waits",
            Self::NeverLapses => "binding::a_binding_lapses_with_its_term",
            Self::NeverWaits | Self::Oversleeps => "letters::waiting_ends_at_its_deadline",
            Self::RepeatsEpochs => "binding::an_epoch_never_repeats",
            Self::SendsTheFirstOnly => "letters::letters_to_several_all_arrive",
            Self::SleepsOn => "letters::who_waits_is_woken",
            Self::SwallowsLargeLetters => "letters::a_letter_that_is_too_large_is_refused",
            Self::UnbindsForOthers => "binding::a_passed_binding_gives_up_nothing",
        }
    }
}

/// A place with a flaw, or without.
#[derive(Clone, Debug)]
pub(super) struct Flawed(Arc<Place>);

#[derive(Debug)]
struct Place {
    sound: MemoryMailboxes,
    flaw: Option<Flaw>,
    sent: AtomicUsize,
    was_full: AtomicBool,
    readers: Mutex<BTreeSet<Mailbox>>,
}

impl Flawed {
    pub(super) fn new(flaw: Option<Flaw>) -> Self {
        Self(Arc::new(Place {
            sound: MemoryMailboxes::new(),
            flaw,
            sent: AtomicUsize::new(0),
            was_full: AtomicBool::new(false),
            readers: Mutex::default(),
        }))
    }

    fn has(&self, flaw: Flaw) -> bool {
        self.0.flaw == Some(flaw)
    }

    fn term(&self, term: Duration) -> Duration {
        if self.has(Flaw::NeverLapses) { Duration::from_hours(1) } else { term }
    }

    async fn bind_it(&self, by: String, term: Duration) -> Result<Epoch, MailError> {
        let bound = self.0.sound.bind(by, self.term(term)).await;
        let now = self.0.sound.look().await?.epoch;
        match bound {
            Err(MailError::AlreadyLed { .. }) if self.has(Flaw::BindsEverybody) => Ok(now),
            Err(MailError::AlreadyLed { .. }) if self.has(Flaw::NamesNobody) => {
                Err(MailError::AlreadyLed { by: String::new() })
            }
            Err(MailError::Over { .. }) if self.has(Flaw::BindsBehindEpitaphs) => Ok(now),
            Ok(_) if self.has(Flaw::RepeatsEpochs) => Ok(Epoch(1)),
            bound => bound,
        }
    }

    async fn keep_it(&self, epoch: Epoch, term: Duration) -> Result<(), MailError> {
        if self.has(Flaw::LapsesThoughItIsKept) {
            return Ok(());
        }
        match self.0.sound.keep(epoch, self.term(term)).await {
            Err(MailError::Deposed { .. }) if self.has(Flaw::KeepsWhatHasPassed) => Ok(()),
            Err(MailError::Gone { .. }) if self.has(Flaw::KeepsWhatNeverWas) => Ok(()),
            kept => kept,
        }
    }

    async fn unbind_it(&self, epoch: Epoch, epitaph: Option<String>) -> Result<(), MailError> {
        let now = self.0.sound.look().await?.epoch;
        let epitaph = epitaph.filter(|_| !self.has(Flaw::ForgetsEpitaphs));
        if self.has(Flaw::HoldsWhatWasGivenUp) && epitaph.is_none() {
            return Ok(());
        }
        let for_others = self.has(Flaw::UnbindsForOthers)
            || self.has(Flaw::LeavesEpitaphsOfOthers) && epitaph.is_some();
        self.0.sound.unbind(if for_others { now } else { epoch }, epitaph).await
    }

    /// What becomes of a letter.
    fn spoil(&self, mut letter: Letter) -> Option<Letter> {
        let number = self.0.sent.fetch_add(1, Ordering::SeqCst);
        match self.0.flaw? {
            Flaw::CutsLetters => letter.bytes.truncate(4_096),
            Flaw::ReadsLettersAsText => {
                letter.bytes = String::from_utf8_lossy(&letter.bytes).into_owned().into_bytes();
                letter.bytes.truncate(LETTER_MAX);
            }
            Flaw::MixesMailboxes => letter.to = Mailbox(1),
            Flaw::LosesLetters if number % 7 == 6 => return None,
            Flaw::SwallowsLargeLetters if letter.bytes.len() > LETTER_MAX => return None,
            Flaw::NeedsAReader => {
                let readers = self.0.readers.lock().expect("nobody panics");
                return readers.contains(&letter.to).then_some(letter);
            }
            _ => {}
        }
        Some(letter)
    }

    async fn put(&self, mut letters: Vec<Letter>) -> Result<(), MailError> {
        if self.has(Flaw::SendsTheFirstOnly) {
            letters.truncate(1);
        }
        if self.0.flaw.is_some() {
            letters = letters.into_iter().filter_map(|letter| self.spoil(letter)).collect();
        }
        let full = || {
            let (place, reason) = (self.place(), "it was full once".to_owned());
            Err(MailError::Full { place, reason })
        };
        if self.has(Flaw::IsFullForEverybody) && self.0.was_full.load(Ordering::SeqCst) {
            return full();
        }
        match self.0.sound.send(letters).await {
            Err(MailError::Full { .. }) if self.has(Flaw::HasNoBound) => Ok(()),
            Err(error @ MailError::Full { .. }) => {
                self.0.was_full.store(true, Ordering::SeqCst);
                Err(error)
            }
            sent => sent,
        }
    }

    async fn take(&self, mailbox: Mailbox, within: Duration) -> Result<Vec<Vec<u8>>, MailError> {
        self.0.readers.lock().expect("nobody panics").insert(mailbox);
        let sound = &self.0.sound;
        match self.0.flaw {
            Some(Flaw::MixesMailboxes) => sound.receive(Mailbox(1), within).await,
            Some(Flaw::NeverWaits) => sound.receive(mailbox, Duration::ZERO).await,
            Some(Flaw::Oversleeps) => sound.receive(mailbox, within + Duration::from_secs(3)).await,
            Some(Flaw::SleepsOn) => {
                tokio::time::sleep(within).await;
                sound.receive(mailbox, Duration::ZERO).await
            }
            Some(Flaw::HandsOverTwice) => {
                let letters = sound.receive(mailbox, within).await?;
                let again = letters.iter().map(|it| Letter { to: mailbox, bytes: it.clone() });
                sound.send(again.collect()).await?;
                Ok(letters)
            }
            Some(Flaw::HandsOverEverything) => {
                let mut letters = sound.receive(mailbox, within).await?;
                letters.extend(sound.receive(mailbox, Duration::ZERO).await?);
                Ok(letters)
            }
            _ => sound.receive(mailbox, within).await,
        }
    }
}

impl Mailboxes for Flawed {
    fn place(&self) -> String {
        "a flawed place".to_owned()
    }

    fn bind(&self, by: String, term: Duration) -> Mailed<'_, Epoch> {
        Box::pin(self.bind_it(by, term))
    }

    fn keep(&self, epoch: Epoch, term: Duration) -> Mailed<'_, ()> {
        Box::pin(self.keep_it(epoch, term))
    }

    fn unbind(&self, epoch: Epoch, epitaph: Option<String>) -> Mailed<'_, ()> {
        Box::pin(self.unbind_it(epoch, epitaph))
    }

    fn look(&self) -> Mailed<'_, Standing> {
        self.0.sound.look()
    }

    fn send(&self, letters: Vec<Letter>) -> Mailed<'_, ()> {
        Box::pin(self.put(letters))
    }

    fn receive(&self, mailbox: Mailbox, within: Duration) -> Mailed<'_, Vec<Vec<u8>>> {
        Box::pin(self.take(mailbox, within))
    }
}
