//! Requests that wait for their answers.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::mailboxes::{BindingEpoch, MailboxBinding};
use super::protocol::MailboxReply;
use crate::LinkError;

/// The most pending requests. A worker has a few; one more evicts the oldest. A leader remembers twice as many
/// numbers.
const PENDING_REQUESTS_MAX: usize = 64;

type MailboxReplyResult = Result<MailboxReply, LinkError>;

/// The newest known epoch, and the pending requests.
#[derive(Debug, Default)]
pub(super) struct PendingRequests(Mutex<PendingState>);

#[derive(Debug, Default)]
struct PendingState {
    /// The newest epoch.
    epoch: BindingEpoch,
    /// The number of the last request.
    number: u64,
    questions: BTreeMap<u64, oneshot::Sender<MailboxReplyResult>>,
    /// Why no request will be answered any more.
    ended: Option<LinkError>,
}

impl PendingRequests {
    /// Returns a number for a request and the receiver of its answer, or why there will be none. No number repeats,
    /// since a leader accepts each once.
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

    /// Drops a request whose answer is no longer awaited.
    pub(super) fn forget(&self, number: u64) {
        self.lock().questions.remove(&number);
    }

    /// The newest known epoch; or why there will be none.
    pub(super) fn epoch(&self) -> Result<BindingEpoch, LinkError> {
        let known = self.lock();
        known.ended.clone().map_or(Ok(known.epoch), Err)
    }

    /// Delivers an answer to its request. Answers of former leaders are ignored.
    pub(super) fn complete(&self, from: BindingEpoch, number: u64, answer: MailboxReply) {
        let mut known = self.lock();
        if from < known.epoch {
            return;
        }
        known.epoch = from;
        if let MailboxReply::Over(final_status) = answer {
            return known.end(LinkError::Finished(final_status));
        }
        if let Some(question) = known.questions.remove(&number) {
            // The caller may have given up.
            drop(question.send(Ok(answer)));
        }
    }

    /// Applies a binding that was read because no messages came. Requests to a leader that is gone fail.
    pub(super) fn apply_binding(&self, place: &str, standing: MailboxBinding) {
        let mut known = self.lock();
        if let Some(final_status) = standing.final_status {
            return known.end(LinkError::Finished(final_status));
        }
        if standing.epoch < known.epoch {
            let reason = format!(
                "{place} has lost its leader's binding: it was emptied, or restarted without its data"
            );
            return known.end(LinkError::StateLost(reason));
        }
        let is_new = standing.epoch > known.epoch;
        known.epoch = standing.epoch;
        if is_new || standing.by.is_none() {
            let reason = match standing.by {
                Some(by) => format!("{by} is the leader now"),
                None => "there is no leader".to_owned(),
            };
            known.fail(&LinkError::Unreachable { place: place.to_owned(), reason });
        }
    }

    /// Fails every pending request. Later ones may succeed.
    pub(super) fn fail(&self, why: &LinkError) {
        self.lock().fail(why);
    }

    /// Fails every request, pending and future.
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
    fn answer_goes_to_its_request_and_a_former_leaders_answer_to_none() {
        let waiting = PendingRequests::default();
        let (first, mut one) = waiting.add().unwrap();
        let (second, mut two) = waiting.add().unwrap();
        waiting.complete(BindingEpoch(2), second, MailboxReply::Heard);
        assert_eq!(two.try_recv(), Ok(Ok(MailboxReply::Heard)));
        waiting.complete(BindingEpoch(1), first, MailboxReply::Heard);
        assert!(one.try_recv().is_err(), "it comes from a former leader");
        waiting.complete(BindingEpoch(2), first, MailboxReply::NotNow);
        assert_eq!(one.try_recv(), Ok(Ok(MailboxReply::NotNow)));
    }

    #[test]
    fn requests_fail_when_a_new_leader_is_bound() {
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
    fn no_request_is_accepted_after_lost_state_or_a_final_status() {
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
    fn pending_requests_are_bounded() {
        let waiting = PendingRequests::default();
        let (_, mut first) = waiting.add().unwrap();
        let _others: Vec<_> = (0..PENDING_REQUESTS_MAX).map(|_| waiting.add().unwrap().1).collect();
        assert_eq!(waiting.lock().questions.len(), PENDING_REQUESTS_MAX);
        assert!(first.try_recv().is_err(), "the oldest is evicted");
    }
}
