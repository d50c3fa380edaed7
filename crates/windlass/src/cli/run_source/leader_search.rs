//! Where to ask next, while it is looked for who leads.
//!
//! Of several controllers one leads. The others say who, and nobody does for some seconds after it has died. So whoever was
//! named is asked in turn, who is told of is followed, and that somebody answered at all is reason to be patient.

use std::time::Duration;

use crate::link::http::ControllerAddress;

/// How long nobody may lead before that is an error: longer than it takes another one to take over.
const PATIENCE: Duration = Duration::from_secs(20);

/// The pause between two rounds.
const PAUSE: Duration = Duration::from_millis(250);

/// What came of asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LeaderSearchMiss {
    /// Nobody answered.
    Unreachable,
    /// Who answered does not lead, and does not know who does.
    NoLeader,
    /// Who answered does not lead and says who does.
    LedBy(ControllerAddress),
    /// The same, and one must not go there.
    LedElsewhere,
}

/// A search for who leads.
#[derive(Debug)]
pub(super) struct LeaderSearch<'a> {
    given: &'a [ControllerAddress],
    /// Whoever is to be asked.
    now: ControllerAddress,
    /// Which of the given ones comes next.
    next: usize,
    asked: usize,
    answered: bool,
    elsewhere: usize,
}

impl<'a> LeaderSearch<'a> {
    /// Begins with who led last, among those who were given.
    pub(super) fn begin(given: &'a [ControllerAddress], last: ControllerAddress) -> Self {
        let next = given.iter().position(|place| *place == last).map_or(0, |at| at + 1);
        Self { given, now: last, next, asked: 0, answered: false, elsewhere: 0 }
    }

    /// Whoever is to be asked now.
    pub(super) const fn place(&self) -> &ControllerAddress {
        &self.now
    }

    /// Turns to the next, after a pause. `None` if there is no hope, or it has taken too long.
    pub(super) fn advance(
        &mut self,
        miss: LeaderSearchMiss,
        elapsed: Duration,
    ) -> Option<Duration> {
        self.asked += 1;
        self.answered |= miss != LeaderSearchMiss::Unreachable;
        self.elsewhere += usize::from(miss == LeaderSearchMiss::LedElsewhere);
        let round = self.given.len().max(1);
        let nobody_there = !self.answered && self.asked >= round;
        if nobody_there || self.elsewhere >= round || elapsed >= PATIENCE {
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

    /// Whoever is asked, in order, until there is no hope.
    fn asked(
        given: &[&str],
        most: usize,
        mut answer: impl FnMut(&str) -> LeaderSearchMiss,
    ) -> Vec<String> {
        let given = places(given);
        let mut search = LeaderSearch::begin(&given, given[0].clone());
        let mut asked = Vec::new();
        while asked.len() < most {
            let place = search.place().host().to_owned();
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
