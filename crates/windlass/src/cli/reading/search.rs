//! Where to ask next, while it is looked for who leads.
//!
//! Of several controllers one leads. The others say who, and nobody does for some seconds after it has died. So whoever was
//! named is asked in turn, who is told of is followed, and that somebody answered at all is reason to be patient.

use std::time::Duration;

use crate::link::http::Place;

/// How long nobody may lead before that is an error: longer than it takes another one to take over.
const PATIENCE: Duration = Duration::from_secs(20);

/// The pause between two rounds.
const PAUSE: Duration = Duration::from_millis(250);

/// What came of asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Miss {
    /// Nobody answered.
    Unreachable,
    /// Who answered does not lead, and does not know who does.
    NobodyLeads,
    /// Who answered does not lead and says who does.
    LedBy(Place),
    /// The same, and one must not go there.
    LedElsewhere,
}

/// A search for who leads.
#[derive(Debug)]
pub(super) struct Search<'a> {
    given: &'a [Place],
    /// Whoever is to be asked.
    now: Place,
    /// Which of the given ones comes next.
    next: usize,
    asked: usize,
    answered: bool,
    elsewhere: usize,
}

impl<'a> Search<'a> {
    /// Begins with who led last, among those who were given.
    pub(super) fn begin(given: &'a [Place], last: Place) -> Self {
        let next = given.iter().position(|place| *place == last).map_or(0, |at| at + 1);
        Self { given, now: last, next, asked: 0, answered: false, elsewhere: 0 }
    }

    /// Whoever is to be asked now.
    pub(super) const fn place(&self) -> &Place {
        &self.now
    }

    /// Turns to the next, after a pause. `None` if there is no hope, or it has taken too long.
    pub(super) fn turn(&mut self, miss: Miss, elapsed: Duration) -> Option<Duration> {
        self.asked += 1;
        self.answered |= miss != Miss::Unreachable;
        self.elsewhere += usize::from(miss == Miss::LedElsewhere);
        let round = self.given.len().max(1);
        let nobody_there = !self.answered && self.asked >= round;
        if nobody_there || self.elsewhere >= round || elapsed >= PATIENCE {
            return None;
        }
        let is_new_round = self.asked.is_multiple_of(round + 1);
        self.now = match miss {
            Miss::LedBy(leader) if leader != self.now => leader,
            _ => self.next_given(),
        };
        Some(if is_new_round { PAUSE } else { Duration::ZERO })
    }

    fn next_given(&mut self) -> Place {
        let next = self.given[self.next % self.given.len()].clone();
        self.next += 1;
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(texts: &[&str]) -> Vec<Place> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    /// Whoever is asked, in order, until there is no hope.
    fn asked(given: &[&str], most: usize, mut answer: impl FnMut(&str) -> Miss) -> Vec<String> {
        let given = places(given);
        let mut search = Search::begin(&given, given[0].clone());
        let mut asked = Vec::new();
        while asked.len() < most {
            let place = search.place().host().to_owned();
            asked.push(place.clone());
            if search.turn(answer(&place), Duration::ZERO).is_none() {
                break;
            }
        }
        asked
    }

    #[test]
    fn each_that_was_named_is_asked_once_where_nobody_answers() {
        assert_eq!(asked(&["a"], 9, |_| Miss::Unreachable), ["a"]);
        assert_eq!(asked(&["a", "b", "c"], 9, |_| Miss::Unreachable), ["a", "b", "c"]);
    }

    #[test]
    fn who_is_told_of_is_asked_next_and_the_others_again_if_it_does_not_answer() {
        let [leader] = places(&["b"]).try_into().unwrap();
        let answer = |place: &str| match place {
            "b" => Miss::Unreachable,
            _ => Miss::LedBy(leader.clone()),
        };
        assert_eq!(asked(&["a", "b", "c"], 6, answer), ["a", "b", "b", "c", "b", "a"]);
    }

    #[test]
    fn whoever_must_not_be_followed_is_told_of_at_once() {
        assert_eq!(asked(&["a"], 9, |_| Miss::LedElsewhere), ["a"]);
    }

    #[test]
    fn that_nobody_leads_is_waited_for_but_not_for_ever() {
        let given = places(&["a", "b"]);
        let mut search = Search::begin(&given, given[1].clone());
        let waited: Duration =
            (0..60).filter_map(|_| search.turn(Miss::NobodyLeads, Duration::ZERO)).sum();
        assert_eq!(waited, PAUSE * 20);
        assert_eq!(search.turn(Miss::NobodyLeads, PATIENCE), None);
    }
}
