//! The search for the leader of a cluster.
//!
//! One of several controllers leads. The others name it, except for some seconds after it died. The search tries the
//! given addresses in turn, follows the leader that they name, and keeps trying as long as any controller answers.

use std::time::Duration;

use windlass_net::http::ControllerAddress;

/// How long a cluster may have no leader before that is an error: longer than a takeover.
const PATIENCE: Duration = Duration::from_secs(20);

/// The pause between two rounds.
const PAUSE: Duration = Duration::from_millis(250);

/// The result of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LeaderSearchMiss {
    /// The controller did not answer.
    Unreachable,
    /// It does not lead, and knows no leader.
    NoLeader,
    /// It does not lead, and names the leader.
    LedBy(ControllerAddress),
    /// The same, but the search must not go there.
    LedElsewhere,
}

/// A search for the leader.
#[derive(Debug)]
pub(super) struct LeaderSearch<'a> {
    given: &'a [ControllerAddress],
    /// The current address.
    now: ControllerAddress,
    /// The index of the next given address.
    next: usize,
    asked: usize,
    answered: bool,
    elsewhere: usize,
}

impl<'a> LeaderSearch<'a> {
    /// Starts at the last known leader.
    pub(super) fn begin(given: &'a [ControllerAddress], last: ControllerAddress) -> Self {
        let next = given.iter().position(|address| *address == last).map_or(0, |at| at + 1);
        Self { given, now: last, next, asked: 0, answered: false, elsewhere: 0 }
    }

    /// The current address.
    pub(super) const fn address(&self) -> &ControllerAddress {
        &self.now
    }

    /// Moves to the next address, after a pause. `None` if no controller answers, or the time is over; each given address
    /// is asked before that.
    pub(super) fn advance(
        &mut self,
        miss: LeaderSearchMiss,
        elapsed: Duration,
    ) -> Option<Duration> {
        self.asked += 1;
        self.answered |= miss != LeaderSearchMiss::Unreachable;
        self.elsewhere += usize::from(miss == LeaderSearchMiss::LedElsewhere);
        let round = self.given.len().max(1);
        // A leader that hangs may use up all of the time: the others are asked nevertheless.
        let all_asked = self.asked >= round;
        let is_over = all_asked && (!self.answered || elapsed >= PATIENCE);
        if is_over || self.elsewhere >= round {
            return None;
        }
        let is_new_round = self.asked.is_multiple_of(round + 1);
        self.now = match miss {
            LeaderSearchMiss::LedBy(leader) if leader != self.now => leader,
            _ => self.next_given(),
        };
        Some(if is_new_round { PAUSE } else { Duration::ZERO })
    }

    fn next_given(&mut self) -> ControllerAddress {
        let next = self.given[self.next % self.given.len()].clone();
        self.next += 1;
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(texts: &[&str]) -> Vec<ControllerAddress> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    /// The visited addresses until the search gives up.
    fn asked(
        given: &[&str],
        most: usize,
        mut answer: impl FnMut(&str) -> LeaderSearchMiss,
    ) -> Vec<String> {
        let given = places(given);
        let mut search = LeaderSearch::begin(&given, given[0].clone());
        let mut asked = Vec::new();
        while asked.len() < most {
            let place = search.address().host().to_owned();
            asked.push(place.clone());
            if search.advance(answer(&place), Duration::ZERO).is_none() {
                break;
            }
        }
        asked
    }

    #[test]
    fn every_given_address_is_asked_once_when_none_responds() {
        assert_eq!(asked(&["a"], 9, |_| LeaderSearchMiss::Unreachable), ["a"]);
        assert_eq!(asked(&["a", "b", "c"], 9, |_| LeaderSearchMiss::Unreachable), ["a", "b", "c"]);
    }

    #[test]
    fn announced_leader_is_asked_next_and_the_others_again_if_it_is_silent() {
        let [leader] = places(&["b"]).try_into().unwrap();
        let answer = |place: &str| match place {
            "b" => LeaderSearchMiss::Unreachable,
            _ => LeaderSearchMiss::LedBy(leader.clone()),
        };
        assert_eq!(asked(&["a", "b", "c"], 6, answer), ["a", "b", "b", "c", "b", "a"]);
    }

    #[test]
    fn leader_that_must_not_be_followed_ends_the_search_at_once() {
        assert_eq!(asked(&["a"], 9, |_| LeaderSearchMiss::LedElsewhere), ["a"]);
    }

    #[test]
    fn a_leader_that_hangs_does_not_keep_the_search_from_the_others() {
        let given = places(&["a", "b"]);
        let mut search = LeaderSearch::begin(&given, given[0].clone());
        let hung = search.advance(LeaderSearchMiss::Unreachable, PATIENCE * 2);
        assert_eq!((hung, search.address()), (Some(Duration::ZERO), &given[1]));
        assert_eq!(search.advance(LeaderSearchMiss::Unreachable, PATIENCE * 4), None);
    }

    #[test]
    fn wait_for_a_leader_is_bounded() {
        let given = places(&["a", "b"]);
        let mut search = LeaderSearch::begin(&given, given[1].clone());
        let waited: Duration = (0..60)
            .filter_map(|_| search.advance(LeaderSearchMiss::NoLeader, Duration::ZERO))
            .sum();
        assert_eq!(waited, PAUSE * 20);
        assert_eq!(search.advance(LeaderSearchMiss::NoLeader, PATIENCE), None);
    }
}
