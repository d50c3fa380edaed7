//! Questions that a leader has taken, so that none is taken twice.
//!
//! Every program with the run's secret can send a letter again that it has read, as it is. Its signature and its epoch are
//! right. If it counted, the last letter of a dead worker would keep its leases alive for as long as the leader leads.
//!
//! A worker that asks again gives the question a new number, so a number that has come already is dropped. Letters come in
//! any order and some take several parts, so what counts is not only the newest number: of the newest `REMEMBERED`, each is
//! taken once, and older ones are not taken. That is more than a worker has under way.

use std::collections::BTreeMap;

use windlass_core::id::WorkerId;
use windlass_link::mailbox::MailboxId;

/// The newest numbers of a mailbox of which it is known which have come: the bits of a word. A worker has at most 64
/// questions under way.
const REMEMBERED: u64 = 128;

/// The questions of every mailbox that has asked since the place was bound.
#[derive(Debug)]
pub(super) struct SeenMailboxRequests {
    mailboxes: BTreeMap<(WorkerId, MailboxId), SeenMailboxNumbers>,
    mailboxes_max: usize,
}

/// Which numbers of one mailbox have come.
#[derive(Debug)]
struct SeenMailboxNumbers {
    newest: u64,
    /// The lowest bit is the newest, the next one the number before it.
    seen: u128,
}

impl SeenMailboxRequests {
    /// None so far, of at most so many mailboxes.
    pub(super) const fn new(mailboxes_max: usize) -> Self {
        Self { mailboxes: BTreeMap::new(), mailboxes_max }
    }

    /// Takes a question that this worker has signed. Returns whether it is the first time. One from a mailbox that there is
    /// no room to remember is not taken: to forget another instead would let its letters be sent again.
    pub(super) fn take(&mut self, from: (WorkerId, MailboxId), number: u64) -> bool {
        if let Some(numbers) = self.mailboxes.get_mut(&from) {
            return numbers.take(number);
        }
        if self.is_full() {
            return false;
        }
        self.mailboxes.insert(from, SeenMailboxNumbers { newest: number, seen: 1 });
        true
    }

    /// Whether no other mailbox is heard any more.
    pub(super) fn is_full(&self) -> bool {
        self.mailboxes.len() >= self.mailboxes_max
    }
}

impl SeenMailboxNumbers {
    fn take(&mut self, number: u64) -> bool {
        let Some(age) = self.newest.checked_sub(number) else {
            let newer_by = number - self.newest;
            let older = if newer_by < REMEMBERED { self.seen << newer_by } else { 0 };
            (self.newest, self.seen) = (number, older | 1);
            return true;
        };
        if age >= REMEMBERED {
            return false;
        }
        let bit = 1 << age;
        let is_first = self.seen & bit == 0;
        self.seen |= bit;
        is_first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANN: (WorkerId, MailboxId) = (WorkerId(1), MailboxId(7 << 32));

    #[test]
    fn question_is_taken_once_in_whatever_order_they_come() {
        let mut taken = SeenMailboxRequests::new(10);
        for number in [5, 7, 6, 3, 200, 199, 100] {
            assert!(taken.take(ANN, number), "{number}");
        }
        for number in [5, 7, 6, 3, 200, 199, 100, 72] {
            assert!(!taken.take(ANN, number), "{number}");
        }
        assert!(taken.take(ANN, 73), "the oldest that is remembered");
        assert!(taken.take(ANN, u64::MAX) && !taken.take(ANN, 201));
        assert!(!taken.take(ANN, u64::MAX) && taken.take(ANN, u64::MAX - 127));
    }

    #[test]
    fn numbers_are_of_one_worker_and_one_mailbox() {
        let mut taken = SeenMailboxRequests::new(10);
        assert!(taken.take(ANN, 9));
        let (worker, mailbox) = ANN;
        assert!(taken.take((worker, MailboxId(8 << 32)), 9));
        assert!(taken.take((WorkerId(2), mailbox), 9), "another one cannot use its numbers up");
    }

    #[test]
    fn nothing_is_forgotten_for_mailboxes_beyond_the_bound() {
        let mut taken = SeenMailboxRequests::new(2);
        assert!(taken.take(ANN, 1) && !taken.is_full());
        assert!(taken.take((WorkerId(2), ANN.1), 1) && taken.is_full());
        assert!(!taken.take((WorkerId(3), ANN.1), 1));
        assert!(!taken.take(ANN, 1) && taken.take(ANN, 2));
    }
}
