//! Search for many patterns in one pass over the bytes, in time that is linear in the number of bytes.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::nfa::contiguous;
use aho_corasick::{Anchored, BuildError, dfa};

/// Larger sets of patterns are searched by an automaton that is slower and a hundred times smaller. A table has an
/// entry for every byte of a pattern and every byte that may follow it.
const TABLE_MAX: usize = 32 * 1024;

/// Finds patterns in bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct PatternSearch {
    automaton: Option<Arc<PatternAutomaton>>,
    /// The length of the longest pattern.
    pub(super) longest: usize,
}

#[derive(Debug)]
struct PatternAutomaton {
    machine: PatternMachine,
    /// For each state, the number of last bytes that may be the beginning of a longer pattern.
    begun: HashMap<StateID, usize>,
}

#[derive(Debug)]
enum PatternMachine {
    Table(dfa::DFA),
    Links(contiguous::NFA),
}

impl PatternSearch {
    /// Creates a search for these patterns. Those with fewer than two bytes are left out.
    pub(super) fn new(mut patterns: Vec<Vec<u8>>) -> Result<Self, BuildError> {
        patterns.retain(|pattern| pattern.len() >= 2);
        patterns.sort();
        patterns.dedup();
        if patterns.is_empty() {
            return Ok(Self::default());
        }
        let bytes: usize = patterns.iter().map(Vec::len).sum();
        let machine = if bytes <= TABLE_MAX {
            PatternMachine::Table(dfa::DFA::new(&patterns)?)
        } else {
            PatternMachine::Links(contiguous::NFA::new(&patterns)?)
        };
        let longest = patterns.iter().map(Vec::len).max().unwrap_or(0);
        let begun = match &machine {
            PatternMachine::Table(it) => begun(it, &patterns),
            PatternMachine::Links(it) => begun(it, &patterns),
        };
        Ok(Self { automaton: Some(Arc::new(PatternAutomaton { machine, begun })), longest })
    }

    /// Returns whether there is nothing to search for.
    pub(super) fn is_empty(&self) -> bool {
        self.automaton.is_none()
    }

    /// Calls `each` with every range that is a pattern. Returns how many bytes at the end may be the beginning of one.
    pub(super) fn search(&self, bytes: &[u8], each: impl FnMut(Range<usize>)) -> usize {
        let Some(automaton) = &self.automaton else { return 0 };
        let last = match &automaton.machine {
            PatternMachine::Table(it) => walk(it, bytes, each),
            PatternMachine::Links(it) => walk(it, bytes, each),
        };
        last.and_then(|state| automaton.begun.get(&state)).copied().unwrap_or(0)
    }

    /// Returns whether the bytes contain a pattern.
    pub(super) fn is_found_in(&self, bytes: &[u8]) -> bool {
        let mut found = false;
        self.search(bytes, |_| found = true);
        found
    }
}

/// Reads bytes from the first state on, reports each pattern where it ends, and returns the last state.
fn walk(
    automaton: &impl Automaton,
    bytes: &[u8],
    mut each: impl FnMut(Range<usize>),
) -> Option<StateID> {
    let mut state = automaton.start_state(Anchored::No).ok()?;
    for (at, byte) in bytes.iter().enumerate() {
        state = automaton.next_state(Anchored::No, state, *byte);
        if !automaton.is_match(state) {
            continue;
        }
        for index in 0..automaton.match_len(state) {
            let length = automaton.pattern_len(automaton.match_pattern(state, index));
            each(at + 1 - length..at + 1);
        }
    }
    Some(state)
}

/// Returns, for each state, how many of the last bytes may be the beginning of a longer pattern. The patterns are
/// sorted.
///
/// The state after the beginning of a pattern represents that beginning. After a whole pattern that begins no other,
/// the longest shorter suffix counts.
fn begun(automaton: &impl Automaton, patterns: &[Vec<u8>]) -> HashMap<StateID, usize> {
    let mut begun = HashMap::new();
    let Ok(start) = automaton.start_state(Anchored::No) else { return begun };
    let mut whole = Vec::new();
    for (index, pattern) in patterns.iter().enumerate() {
        let mut state = start;
        for (at, byte) in pattern.iter().enumerate() {
            state = automaton.next_state(Anchored::No, state, *byte);
            begun.insert(state, at + 1);
        }
        let next = patterns.get(index + 1);
        if !next.is_some_and(|next| next.starts_with(pattern)) {
            whole.push((pattern, state));
        }
    }
    // A suffix that is a whole pattern itself is shorter, and was handled before.
    whole.sort_by_key(|(pattern, _)| pattern.len());
    for (pattern, state) in whole {
        let ending = walk(automaton, &pattern[1..], |_| {});
        let length = ending.and_then(|state| begun.get(&state)).copied().unwrap_or(0);
        begun.insert(state, length);
    }
    begun
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(patterns: &[&str]) -> PatternSearch {
        let patterns = patterns.iter().map(|pattern| pattern.as_bytes().to_vec()).collect();
        PatternSearch::new(patterns).expect("they are few")
    }

    #[test]
    fn longest_suffix_that_may_grow_into_a_pattern_is_begun() {
        let search = search(&["abcab", "cabcd", "ab", "abx"]);
        let begun = |text: &str| search.search(text.as_bytes(), |_| {});
        assert_eq!(begun(""), 0);
        assert_eq!(begun("xyz"), 0);
        assert_eq!(begun("ab"), 2, "a pattern that others begin with");
        assert_eq!(begun("abc"), 3);
        assert_eq!(begun("abcab"), 3, "a whole pattern, of which `cab` may grow");
        assert_eq!(begun("abx"), 0, "a whole pattern of which nothing may grow");
    }

    #[test]
    fn patterns_are_found_where_they_overlap() {
        let mut found = Vec::new();
        search(&["abc", "bcd", "cd"]).search(b"xabcd", |range| found.push(range));
        found.sort_by_key(|range| (range.start, range.end));
        assert_eq!(found, [1..4, 2..5, 3..5]);
    }
}
