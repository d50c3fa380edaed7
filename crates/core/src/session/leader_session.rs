//! The leader's end of a session: the order of its exchanges.

use serde::{Deserialize, Serialize};

use crate::id::Seq;

/// The order of an exchange that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeArrival {
    /// It is the newest. A parked older one is answered without content.
    New {
        /// The parked exchange that it replaces.
        superseded: Option<Seq>,
    },
    /// It repeats the newest: it is answered from the current state.
    Repeat,
    /// It was overtaken, and has no effect.
    Overtaken,
}

/// The exchanges that the leader remembers of a worker. They are not journalled: a new leader starts with the `granted`
/// events and accepts the first exchange that comes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaderSession {
    last: Seq,
    seen: Seq,
    parked: Option<Seq>,
}

impl LeaderSession {
    /// Takes an exchange.
    pub fn receive(&mut self, seq: Seq, seen: Seq) -> ExchangeArrival {
        if seq < self.last {
            return ExchangeArrival::Overtaken;
        }
        if seq == self.last {
            return ExchangeArrival::Repeat;
        }
        self.last = seq;
        self.seen = self.seen.max(seen);
        ExchangeArrival::New { superseded: self.parked.take() }
    }

    /// Records, from the journal, that `seq` was answered with a grant.
    pub fn note_grant_reply(&mut self, seq: Seq) {
        self.last = self.last.max(seq);
    }

    /// Returns the newest reply that the worker has processed.
    pub const fn seen(&self) -> Seq {
        self.seen
    }

    /// Returns the newest exchange.
    pub const fn last(&self) -> Seq {
        self.last
    }

    /// Keeps the newest exchange open until there is news for the worker.
    pub fn park(&mut self) {
        self.parked = Some(self.last);
    }

    /// Returns the open exchange, if there is one.
    pub const fn parked(&self) -> Option<Seq> {
        self.parked
    }

    /// Takes the open exchange in order to answer it.
    pub fn unpark(&mut self) -> Option<Seq> {
        self.parked.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_exchange_replaces_the_parked_one_and_an_older_one_has_no_effect() {
        let mut peer = LeaderSession::default();
        assert_eq!(peer.receive(Seq(1), Seq(0)), ExchangeArrival::New { superseded: None });
        peer.park();
        assert_eq!(peer.receive(Seq(3), Seq(0)), ExchangeArrival::New { superseded: Some(Seq(1)) });
        assert_eq!(peer.receive(Seq(2), Seq(0)), ExchangeArrival::Overtaken);
        assert_eq!(peer.receive(Seq(3), Seq(0)), ExchangeArrival::Repeat);
    }
}
