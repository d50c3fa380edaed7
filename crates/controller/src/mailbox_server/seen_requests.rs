//! The requests that a leader has accepted, so that none is accepted twice.
//!
//! Every program with the run's secret can send a copy of a message that it has read. Signature and epoch are right. If
//! copies counted, the last message of a dead worker could keep its leases alive for as long as the leader leads.
//!
//! A worker that repeats a request gives it a new number, so a number that was seen before is dropped. Messages arrive
//! in any order and some have several parts. Each of the newest `REMEMBERED` numbers is therefore accepted once, and
//! older ones are not accepted. That is more than a worker has in flight.

use std::collections::BTreeMap;

use windlass_core::id::WorkerId;
use windlass_link::mailbox::MailboxId;

/// The newest numbers of a mailbox that are remembered, one bit each. A worker has at most 64 requests in flight.
const REMEMBERED: u64 = 128;

/// The requests of every mailbox since the place was bound.
#[derive(Debug)]
pub(super) struct SeenMailboxRequests {
    mailboxes: BTreeMap<(WorkerId, MailboxId), SeenMailboxNumbers>,
    mailboxes_max: usize,
}

/// The numbers of one mailbox that were seen.
#[derive(Debug)]
struct SeenMailboxNumbers {
    newest: u64,
    /// The lowest bit is the newest number, the next bit the number before it.
    seen: u128,
}

impl SeenMailboxRequests {
    /// Returns an empty record for at most this many mailboxes.
    pub(super) const fn new(mailboxes_max: usize) -> Self {
        Self { mailboxes: BTreeMap::new(), mailboxes_max }
    }

    /// Accepts a request that this worker has signed. Returns whether the request is new. A request of a mailbox that
    /// there is no room to remember is not accepted: forgetting another mailbox instead would let its messages be sent
    /// again.
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

    /// Whether requests of new mailboxes are no longer accepted.
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
    fn request_is_accepted_once_in_any_order() {
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
    fn numbers_are_separate_per_worker_and_mailbox() {
        let mut taken = SeenMailboxRequests::new(10);
        assert!(taken.take(ANN, 9));
        let (worker, mailbox) = ANN;
        assert!(taken.take((worker, MailboxId(8 << 32)), 9));
        assert!(taken.take((WorkerId(2), mailbox), 9), "another one cannot use its numbers up");
    }

    #[test]
    fn mailboxes_beyond_the_limit_displace_none() {
        let mut taken = SeenMailboxRequests::new(2);
        assert!(taken.take(ANN, 1) && !taken.is_full());
        assert!(taken.take((WorkerId(2), ANN.1), 1) && taken.is_full());
        assert!(!taken.take((WorkerId(3), ANN.1), 1));
        assert!(!taken.take(ANN, 1) && taken.take(ANN, 2));
    }
}
