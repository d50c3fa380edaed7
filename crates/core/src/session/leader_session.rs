//! The leader's end of a session: which exchange is live.

use serde::{Deserialize, Serialize};

use crate::id::Seq;

/// What an arriving exchange is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeArrival {
    /// The newest; if an older one was parked, that one is to be answered with nothing.
    New {
        /// The parked exchange that it replaces.
        superseded: Option<Seq>,
    },
    /// The newest again: it is answered from the state that is there.
    Repeat,
    /// One that was overtaken; it has no effect.
    Overtaken,
}

/// What the leader remembers of a worker's exchanges. None of it is journalled: a new leader starts with what the
/// `granted` events tell and believes the first exchange that comes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaderSession {
    last: Seq,
    seen: Seq,
    parked: Option<Seq>,
}

impl LeaderSession {
    /// Takes in an exchange.
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

    /// Learns from the journal that `seq` was answered with a grant.
    pub fn note_grant_reply(&mut self, seq: Seq) {
        self.last = self.last.max(seq);
    }

    /// The newest reply that the worker processed.
    pub const fn seen(&self) -> Seq {
        self.seen
    }

    /// The newest exchange.
    pub const fn last(&self) -> Seq {
        self.last
    }

    /// Keeps the newest exchange open until there is something to say.
    pub fn park(&mut self) {
        self.parked = Some(self.last);
    }

    /// The exchange that is open, if any.
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
    fn a_newer_exchange_replaces_the_parked_one_and_an_older_one_is_refused() {
        let mut peer = LeaderSession::default();
        assert_eq!(peer.receive(Seq(1), Seq(0)), ExchangeArrival::New { superseded: None });
        peer.park();
        assert_eq!(peer.receive(Seq(3), Seq(0)), ExchangeArrival::New { superseded: Some(Seq(1)) });
        assert_eq!(peer.receive(Seq(2), Seq(0)), ExchangeArrival::Overtaken);
        assert_eq!(peer.receive(Seq(3), Seq(0)), ExchangeArrival::Repeat);
    }
}
