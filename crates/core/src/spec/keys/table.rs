//! What a table of keys is made of.

/// A kind of map with known keys.
#[derive(Debug)]
pub(crate) struct Object {
    /// Its name in a sentence and in the schema: `step`.
    pub(crate) name: &'static str,
    pub(crate) keys: &'static [Key],
    /// What any other key holds, where other keys are the user's own.
    pub(crate) rest: Option<Shape>,
}

/// A key that has a meaning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    /// One line for the reader of the schema.
    pub(crate) doc: &'static str,
    pub(crate) available: Available,
    /// What other tools call it.
    pub(crate) foreign: &'static [&'static str],
    /// How many entries its list or map may have.
    pub(crate) most: usize,
}

/// Whether this version can execute it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Available {
    Now,
    NotYet,
}

/// Texts that are meant as a yes or no, and are no keys.
pub(crate) const NO_KEYS: &[&str] =
    &["true", "false", "yes", "no", "on", "off", "True", "False", "Yes", "No", "On", "Off"];

/// What a value must look like.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
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
    Limit,
    /// A duration, or two with `..` between.
    Wait,
    /// `failed`, `timed_out` or `exit-N`.
    RetryOn,
    /// The key under which something is done once: text, and not the yes or no that the word invites.
    OnceKey,
    /// `docker`, `os=linux`, `cpu>=4`, `not spot`, `gpu | tpu`.
    Requirement,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list.
    List(&'static Self),
    /// One, or a list of them.
    Many(&'static Self),
    /// A map under the user's own keys.
    Map(&'static Self),
    /// A map with known keys.
    Object(&'static Object),
    /// The short form (a scalar or list), or the map that it grows into.
    Grows(&'static Self, &'static Object),
    /// Not looked at: it belongs to a key that is not available yet.
    Anything,
}

/// A key that this version can execute.
pub(super) const fn key(name: &'static str, shape: Shape, doc: &'static str) -> Key {
    Key { name, shape, doc, available: Available::Now, foreign: &[], most: usize::MAX }
}

/// A key that this version knows and cannot execute.
pub(super) const fn not_yet(name: &'static str, doc: &'static str) -> Key {
    Key {
        name,
        shape: Shape::Anything,
        doc,
        available: Available::NotYet,
        foreign: &[],
        most: usize::MAX,
    }
}

impl Key {
    /// The same key, with the words that other tools have for it.
    pub(super) const fn foreign(mut self, words: &'static [&'static str]) -> Self {
        self.foreign = words;
        self
    }
}

impl Key {
    /// The same key, whose list or map has at most so many entries.
    pub(super) const fn most(mut self, most: usize) -> Self {
        self.most = most;
        self
    }
}

impl Object {
    /// It in a sentence: `a step`.
    pub(crate) fn one(&self) -> String {
        match self.name {
            "nodes" | "defaults" => format!("`{}`", self.name),
            name => format!("a {name}"),
        }
    }

    pub(crate) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// The key that another tool's word stands for.
    pub(crate) fn by_foreign(&self, word: &str) -> Option<&'static Key> {
        let plain = |word: &str| word.to_lowercase().replace(['-', '_'], "");
        let word = plain(word);
        self.keys.iter().find(|key| {
            plain(key.name) == word || key.foreign.iter().any(|foreign| plain(foreign) == word)
        })
    }
}
