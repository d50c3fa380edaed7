//! The labels of a worker.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::amount::parse_amount;

/// The labels that a worker advertises: words (`docker`) and facts (`os=linux`, `cpu=8`), compared ignoring case.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Labels(Vec<Box<str>>);

impl Labels {
    /// Creates labels from words: lower case, sorted, without duplicates.
    pub fn new<I: IntoIterator<Item = S>, S: AsRef<str>>(words: I) -> Self {
        let mut list: Vec<Box<str>> =
            words.into_iter().map(|w| w.as_ref().to_lowercase().into()).collect();
        list.sort();
        list.dedup();
        Self(list)
    }

    /// Whether it contains the word (in lower case).
    pub fn has(&self, word: &str) -> bool {
        self.0.binary_search_by(|label| (**label).cmp(word)).is_ok()
    }

    /// Returns the largest number of the facts `key=…`; sizes in bytes.
    pub fn number(&self, key: &str) -> Option<u64> {
        self.iter()
            .filter_map(|label| label.strip_prefix(key)?.strip_prefix('=').and_then(parse_amount))
            .max()
    }

    /// Returns all labels in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|label| &**label)
    }
}

impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(","))
    }
}
