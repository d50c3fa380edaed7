//! Questions that wait for their answers.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::mailboxes::{Epoch, Standing};
use super::message::Answer;
use crate::link::LinkError;

/// Questions under way. A worker has a few; the oldest is given up for one more. A leader remembers twice as many numbers.
const WAITING_MAX: usize = 64;

type Answered = Result<Answer, LinkError>;

/// What one end knows of the leader, and what it has asked.
#[derive(Debug, Default)]
pub(super) struct Waiting(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// The newest leader.
    epoch: Epoch,
    /// The number of the last question.
    number: u64,
    questions: BTreeMap<u64, oneshot::Sender<Answered>>,
    /// Why nothing will be answered any more.
    ended: Option<LinkError>,
}

impl Waiting {
    /// A number for a question, and where its answer will be; or why there will be none. No number is given twice, for a
    /// leader takes each once.
    pub(super) fn ask(&self) -> Result<(u64, oneshot::Receiver<Answered>), LinkError> {
        let mut known = self.known();
        if let Some(ended) = &known.ended {
            return Err(ended.clone());
        }
        known.number += 1;
        let (number, (answer, answered)) = (known.number, oneshot::channel());
        known.questions.insert(number, answer);
        if known.questions.len() > WAITING_MAX {
            known.questions.pop_first();
        }
        Ok((number, answered))
    }

    /// Nobody waits for this answer any more.
    pub(super) fn forget(&self, number: u64) {
        self.known().questions.remove(&number);
    }

    /// The newest leader that was heard of; or why none will be.
    pub(super) fn epoch(&self) -> Result<Epoch, LinkError> {
        let known = self.known();
        known.ended.clone().map_or(Ok(known.epoch), Err)
    }

    /// An answer has come, from a leader. Those of leaders that are no more are not listened to.
    pub(super) fn answered(&self, from: Epoch, number: u64, answer: Answer) {
        let mut known = self.known();
        if from < known.epoch {
            return;
        }
        known.epoch = from;
        if let Answer::Over(epitaph) = answer {
            return known.end(LinkError::Over(epitaph));
        }
        if let Some(question) = known.questions.remove(&number) {
            // Whoever asked may have gone.
            drop(question.send(Ok(answer)));
        }
    }

    /// Nothing was heard for a while, and this is how the place stands: what nobody is going to answer fails.
    pub(super) fn looked(&self, place: &str, standing: Standing) {
        let mut known = self.known();
        if let Some(epitaph) = standing.epitaph {
            return known.end(LinkError::Over(epitaph));
        }
        if standing.epoch < known.epoch {
            let reason = format!(
                "{place} has forgotten its leader: it was emptied, or restarted without what it held"
            );
            return known.end(LinkError::Gone(reason));
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
        self.known().fail(why);
    }

    /// Every question fails, now and later.
    pub(super) fn end(&self, why: LinkError) {
        self.known().end(why);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
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

    fn standing(epoch: u64) -> Standing {
        Standing { epoch: Epoch(epoch), by: Some("ann".to_owned()), epitaph: None }
    }

    #[test]
    fn an_answer_goes_to_its_question_and_one_of_a_former_leader_to_none() {
        let waiting = Waiting::default();
        let (first, mut one) = waiting.ask().unwrap();
        let (second, mut two) = waiting.ask().unwrap();
        waiting.answered(Epoch(2), second, Answer::Heard);
        assert_eq!(two.try_recv(), Ok(Ok(Answer::Heard)));
        waiting.answered(Epoch(1), first, Answer::Heard);
        assert!(one.try_recv().is_err(), "it is of a former leader");
        waiting.answered(Epoch(2), first, Answer::NotNow);
        assert_eq!(one.try_recv(), Ok(Ok(Answer::NotNow)));
    }

    #[test]
    fn a_new_leader_has_everything_asked_again() {
        let waiting = Waiting::default();
        waiting.looked("here", standing(1));
        let (_, mut answer) = waiting.ask().unwrap();
        waiting.looked("here", standing(1));
        assert!(answer.try_recv().is_err(), "it may still be answered");
        waiting.looked("here", standing(2));
        assert!(matches!(answer.try_recv(), Ok(Err(LinkError::Unreachable { .. }))));
        assert!(waiting.ask().is_ok());
    }

    #[test]
    fn what_was_forgotten_or_is_over_is_asked_no_more() {
        let waiting = Waiting::default();
        waiting.looked("here", standing(2));
        let (_, mut answer) = waiting.ask().unwrap();
        waiting.looked("here", Standing::default());
        assert!(matches!(answer.try_recv(), Ok(Err(LinkError::Gone(_)))));
        assert!(matches!(waiting.ask(), Err(LinkError::Gone(_))));

        let waiting = Waiting::default();
        waiting.answered(Epoch(1), 0, Answer::Over("succeeded".to_owned()));
        assert_eq!(waiting.ask().err(), Some(LinkError::Over("succeeded".to_owned())));
    }

    #[test]
    fn questions_have_a_bound() {
        let waiting = Waiting::default();
        let (_, mut first) = waiting.ask().unwrap();
        let _others: Vec<_> = (0..WAITING_MAX).map(|_| waiting.ask().unwrap().1).collect();
        assert_eq!(waiting.known().questions.len(), WAITING_MAX);
        assert!(first.try_recv().is_err(), "the oldest is given up");
    }
}
