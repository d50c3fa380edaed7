//! What a table of keys is made of.

/// A kind of map with known keys.
#[derive(Debug)]
pub(crate) struct ObjectKeys {
    /// Its name in a sentence and in the schema: `step`.
    pub(crate) name: &'static str,
    pub(crate) keys: &'static [KeySpec],
    /// What any other key holds, where other keys are the user's own.
    pub(crate) rest: Option<ValueShape>,
}

/// A key that has a meaning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeySpec {
    pub(crate) name: &'static str,
    pub(crate) shape: ValueShape,
    /// One line for the reader of the schema.
    pub(crate) doc: &'static str,
    pub(crate) available: KeyAvailability,
    /// What other tools call it.
    pub(crate) foreign_names: &'static [&'static str],
    /// How many entries its list or map may have.
    pub(crate) entries_max: usize,
}

/// Whether this version can execute it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyAvailability {
    Now,
    NotYet,
}

/// Texts that are meant as a yes or no, and are no keys.
pub(crate) const BOOLEAN_WORDS: &[&str] =
    &["true", "false", "yes", "no", "on", "off", "True", "False", "Yes", "No", "On", "Off"];

/// What a value must look like.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ValueShape {
    /// Text, which may hold `${{ }}`.
    Text,
    /// What a shell gets.
    Script,
    /// An expression without its braces.
    Condition,
    /// A name of the user's own: `[A-Za-z_][A-Za-z0-9_-]*`.
    Name,
    /// `true` or `false`.
    Flag,
    /// A whole number from the first to the second.
    Number(i64, i64),
    /// `250ms 90s 15m 2h`.
    Duration,
    /// A duration that is not zero.
    PositiveDuration,
    /// A duration, or two with `..` between.
    DurationRange,
    /// `failed`, `timed_out` or `exit-N`.
    RetryOn,
    /// The key under which something is done once: text, and not the yes or no that the word invites.
    IdempotencyKey,
    /// `docker`, `os=linux`, `cpu>=4`, `not spot`, `gpu | tpu`.
    Requirement,
    /// One of these words.
    OneOfWords(&'static [&'static str]),
    /// A list.
    List(&'static Self),
    /// One, or a list of them.
    OneOrMany(&'static Self),
    /// A map under the user's own keys.
    Map(&'static Self),
    /// A map with known keys.
    Object(&'static ObjectKeys),
    /// The short form (a scalar or list), or the map that it grows into.
    ShortOrObject(&'static Self, &'static ObjectKeys),
    /// Not looked at: it belongs to a key that is not available yet.
    Anything,
}

/// A key that this version can execute.
pub(super) const fn key(name: &'static str, shape: ValueShape, doc: &'static str) -> KeySpec {
    KeySpec {
        name,
        shape,
        doc,
        available: KeyAvailability::Now,
        foreign_names: &[],
        entries_max: usize::MAX,
    }
}

/// A key that this version knows and cannot execute.
pub(super) const fn unavailable_key(name: &'static str, doc: &'static str) -> KeySpec {
    KeySpec {
        name,
        shape: ValueShape::Anything,
        doc,
        available: KeyAvailability::NotYet,
        foreign_names: &[],
        entries_max: usize::MAX,
    }
}

impl KeySpec {
    /// The same key, with the words that other tools have for it.
    pub(super) const fn foreign_names(mut self, words: &'static [&'static str]) -> Self {
        self.foreign_names = words;
        self
    }
}

impl KeySpec {
    /// The same key, whose list or map has at most so many entries.
    pub(super) const fn entries_max(mut self, most: usize) -> Self {
        self.entries_max = most;
        self
    }
}

impl ObjectKeys {
    /// It in a sentence: `a step`.
    pub(crate) fn with_article(&self) -> String {
        match self.name {
            "nodes" | "defaults" => format!("`{}`", self.name),
            name => format!("a {name}"),
        }
    }

    pub(crate) fn key(&self, name: &str) -> Option<&'static KeySpec> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// The key that another tool's word stands for.
    pub(crate) fn by_foreign_name(&self, word: &str) -> Option<&'static KeySpec> {
        let plain = |word: &str| word.to_lowercase().replace(['-', '_'], "");
        let word = plain(word);
        self.keys.iter().find(|key| {
            plain(key.name) == word
                || key.foreign_names.iter().any(|foreign| plain(foreign) == word)
        })
    }
}
