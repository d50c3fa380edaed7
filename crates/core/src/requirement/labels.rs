//! What a worker advertises.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::amount::parse_amount;

/// What a worker advertises: words (`docker`) and facts (`os=linux`, `cpu=8`), compared without regard to case.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Labels(Vec<Box<str>>);

impl Labels {
    /// The one label with a meaning of its own: who advertises it runs nothing but steps that are pinned to the leader.
    pub const PINNED_ONLY: &str = "pinned-only";

    /// Labels from any list of words; sorted, in lower case, each once.
    pub fn new<I: IntoIterator<Item = S>, S: AsRef<str>>(words: I) -> Self {
        let mut list: Vec<Box<str>> =
            words.into_iter().map(|w| w.as_ref().to_lowercase().into()).collect();
        list.sort();
        list.dedup();
        Self(list)
    }

    /// Whether the word (in lower case) is among them.
    pub fn has(&self, word: &str) -> bool {
        self.0.binary_search_by(|label| (**label).cmp(word)).is_ok()
    }

    /// The greatest number among the facts `key=…`; sizes count in bytes.
    pub fn number(&self, key: &str) -> Option<u64> {
        self.iter()
            .filter_map(|label| label.strip_prefix(key)?.strip_prefix('=').and_then(parse_amount))
            .max()
    }

    /// All labels in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|label| &**label)
    }
}

impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(","))
    }
}
