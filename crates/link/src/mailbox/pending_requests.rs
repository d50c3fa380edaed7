//! Questions that wait for their answers.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::mailboxes::{BindingEpoch, MailboxBinding};
use super::protocol::MailboxReply;
use crate::LinkError;

/// Questions under way. A worker has a few; the oldest is given up for one more. A leader remembers twice as many numbers.
const PENDING_REQUESTS_MAX: usize = 64;

type MailboxReplyResult = Result<MailboxReply, LinkError>;

/// What one end knows of the leader, and what it has asked.
#[derive(Debug, Default)]
pub(super) struct PendingRequests(Mutex<PendingState>);

#[derive(Debug, Default)]
struct PendingState {
    /// The newest leader.
    epoch: BindingEpoch,
    /// The number of the last question.
    number: u64,
    questions: BTreeMap<u64, oneshot::Sender<MailboxReplyResult>>,
    /// Why nothing will be answered any more.
    ended: Option<LinkError>,
}

impl PendingRequests {
    /// A number for a question, and where its answer will be; or why there will be none. No number is given twice, for a
    /// leader takes each once.
    pub(super) fn add(&self) -> Result<(u64, oneshot::Receiver<MailboxReplyResult>), LinkError> {
        let mut known = self.lock();
        if let Some(ended) = &known.ended {
            return Err(ended.clone());
        }
        known.number += 1;
        let (number, (answer, answered)) = (known.number, oneshot::channel());
        known.questions.insert(number, answer);
        if known.questions.len() > PENDING_REQUESTS_MAX {
            known.questions.pop_first();
        }
        Ok((number, answered))
    }

    /// Nobody waits for this answer any more.
    pub(super) fn forget(&self, number: u64) {
        self.lock().questions.remove(&number);
    }

    /// The newest leader that was heard of; or why none will be.
    pub(super) fn epoch(&self) -> Result<BindingEpoch, LinkError> {
        let known = self.lock();
        known.ended.clone().map_or(Ok(known.epoch), Err)
    }

    /// An answer has come, from a leader. Those of leaders that are no more are not listened to.
    pub(super) fn complete(&self, from: BindingEpoch, number: u64, answer: MailboxReply) {
        let mut known = self.lock();
        if from < known.epoch {
            return;
        }
        known.epoch = from;
        if let MailboxReply::Over(epitaph) = answer {
            return known.end(LinkError::Finished(epitaph));
        }
        if let Some(question) = known.questions.remove(&number) {
            // Whoever asked may have gone.
            drop(question.send(Ok(answer)));
        }
    }

    /// Nothing was heard for a while, and this is how the place stands: what nobody is going to answer fails.
    pub(super) fn apply_binding(&self, place: &str, standing: MailboxBinding) {
        let mut known = self.lock();
        if let Some(epitaph) = standing.final_status {
            return known.end(LinkError::Finished(epitaph));
        }
        if standing.epoch < known.epoch {
            let reason = format!(
                "{place} has forgotten its leader: it was emptied, or restarted without what it held"
            );
            return known.end(LinkError::StateLost(reason));
        }
        let is_new = standing.epoch > known.epoch;
        known.epoch = standing.epoch;
        if is_new || standing.by.is_none() {
            let reason = match standing.by {
                Some(by) => format!("{by} leads there now"),
                None => "nobody leads there".to_owned(),
            };
            known.fail(&LinkError::Unreachable { place: place.to_owned(), reason });
        }
    }

    /// Every question fails; the next may be answered.
    pub(super) fn fail(&self, why: &LinkError) {
        self.lock().fail(why);
    }

    /// Every question fails, now and later.
    pub(super) fn end(&self, why: LinkError) {
        self.lock().end(why);
    }

    fn lock(&self) -> MutexGuard<'_, PendingState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PendingState {
    fn fail(&mut self, why: &LinkError) {
        for (_, question) in std::mem::take(&mut self.questions) {
            drop(question.send(Err(why.clone())));
        }
    }

    fn end(&mut self, why: LinkError) {
        self.fail(&why);
        self.ended.get_or_insert(why);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(epoch: u64) -> MailboxBinding {
        MailboxBinding {
            epoch: BindingEpoch(epoch),
            by: Some("ann".to_owned()),
            final_status: None,
        }
    }

    #[test]
    fn an_answer_goes_to_its_question_and_one_of_a_former_leader_to_none() {
        let waiting = PendingRequests::default();
        let (first, mut one) = waiting.add().unwrap();
        let (second, mut two) = waiting.add().unwrap();
        waiting.complete(BindingEpoch(2), second, MailboxReply::Heard);
        assert_eq!(two.try_recv(), Ok(Ok(MailboxReply::Heard)));
        waiting.complete(BindingEpoch(1), first, MailboxReply::Heard);
        assert!(one.try_recv().is_err(), "it is of a former leader");
        waiting.complete(BindingEpoch(2), first, MailboxReply::NotNow);
        assert_eq!(one.try_recv(), Ok(Ok(MailboxReply::NotNow)));
    }

    #[test]
    fn a_new_leader_has_everything_asked_again() {
        let waiting = PendingRequests::default();
        waiting.apply_binding("here", standing(1));
        let (_, mut answer) = waiting.add().unwrap();
        waiting.apply_binding("here", standing(1));
        assert!(answer.try_recv().is_err(), "it may still be answered");
        waiting.apply_binding("here", standing(2));
        assert!(matches!(answer.try_recv(), Ok(Err(LinkError::Unreachable { .. }))));
        assert!(waiting.add().is_ok());
    }

    #[test]
    fn what_was_forgotten_or_is_over_is_asked_no_more() {
        let waiting = PendingRequests::default();
        waiting.apply_binding("here", standing(2));
        let (_, mut answer) = waiting.add().unwrap();
        waiting.apply_binding("here", MailboxBinding::default());
        assert!(matches!(answer.try_recv(), Ok(Err(LinkError::StateLost(_)))));
        assert!(matches!(waiting.add(), Err(LinkError::StateLost(_))));

        let waiting = PendingRequests::default();
        waiting.complete(BindingEpoch(1), 0, MailboxReply::Over("succeeded".to_owned()));
        assert_eq!(waiting.add().err(), Some(LinkError::Finished("succeeded".to_owned())));
    }

    #[test]
    fn questions_have_a_bound() {
        let waiting = PendingRequests::default();
        let (_, mut first) = waiting.add().unwrap();
        let _others: Vec<_> = (0..PENDING_REQUESTS_MAX).map(|_| waiting.add().unwrap().1).collect();
        assert_eq!(waiting.lock().questions.len(), PENDING_REQUESTS_MAX);
        assert!(first.try_recv().is_err(), "the oldest is given up");
    }
}
