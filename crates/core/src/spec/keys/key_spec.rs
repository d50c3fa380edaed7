//! The types that the tables of keys are built from.

/// A kind of map with known keys.
#[derive(Debug)]
pub(crate) struct ObjectKeys {
    /// Its name in a sentence and in the schema: `step`.
    pub(crate) name: &'static str,
    /// The path that its keys are listed under in the reference: `steps.NAME`.
    pub(crate) path: &'static str,
    /// An introduction for the reference, in Markdown.
    pub(crate) intro: &'static str,
    pub(crate) keys: &'static [KeySpec],
    /// The shape of any other key's value, where other keys are the user's own.
    pub(crate) rest: Option<ValueShape>,
}

/// A key that has a meaning. The check of a file, the schema and the reference all read it from here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeySpec {
    pub(crate) name: &'static str,
    pub(crate) shape: ValueShape,
    /// One line, for the schema, for messages and as the first sentence of the reference.
    pub(crate) doc: &'static str,
    /// Further sentences for the reference, in Markdown.
    pub(crate) details: &'static str,
    /// A whole pipeline that uses the key. The tests plan it.
    pub(crate) example: &'static str,
    pub(crate) default: KeyDefault,
    /// The values that expressions in it can read.
    pub(crate) reads: KeyReads,
    pub(crate) available: KeyAvailability,
    /// The names of the key in other tools.
    pub(crate) foreign_names: &'static [&'static str],
    /// The most entries that its list or map may have.
    pub(crate) entries_max: usize,
}

/// The value that counts if the key is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyDefault {
    /// There is none: the key must be written.
    Required,
    /// Leaving the key out means that there is nothing of the kind.
    Nothing,
    /// This value, as it could be written in the file. The tests compare it with the plan of a step without the key.
    Value(&'static str),
    /// A value that no literal can express, in words.
    Phrase(&'static str),
}

/// The values that expressions in a key's value can read. The checker's rules are in `check`; the tests compare the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyReads {
    /// Expressions are not evaluated there.
    Nothing,
    /// Only params: no step is known there, or not its cells.
    Params,
    /// Params and the run: it belongs to no step, but a worker evaluates it.
    Run,
    /// Everything that is known when the plan is made.
    PlanTime,
    /// Also the outcomes of other steps.
    Outcomes,
    /// Everything: the worker evaluates it.
    Everything,
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
        details: "",
        example: "",
        default: KeyDefault::Nothing,
        reads: KeyReads::Nothing,
        available: KeyAvailability::Now,
        foreign_names: &[],
        entries_max: usize::MAX,
    }
}

/// A key that this version knows and cannot execute.
pub(super) const fn unavailable_key(name: &'static str, doc: &'static str) -> KeySpec {
    KeySpec { available: KeyAvailability::NotYet, ..key(name, ValueShape::Anything, doc) }
}

impl KeySpec {
    /// The same key, with further sentences for the reference.
    pub(super) const fn details(mut self, markdown: &'static str) -> Self {
        self.details = markdown;
        self
    }

    /// The same key, with a pipeline that uses it.
    pub(super) const fn example(mut self, pipeline: &'static str) -> Self {
        self.example = pipeline;
        self
    }

    /// The same key, with this default.
    pub(super) const fn default(mut self, default: KeyDefault) -> Self {
        self.default = default;
        self
    }

    /// The same key, whose value may hold expressions.
    pub(super) const fn reads(mut self, reads: KeyReads) -> Self {
        self.reads = reads;
        self
    }

    /// The same key, with its names in other tools.
    pub(super) const fn foreign_names(mut self, words: &'static [&'static str]) -> Self {
        self.foreign_names = words;
        self
    }

    /// The same key, whose list or map has at most this many entries.
    pub(super) const fn entries_max(mut self, most: usize) -> Self {
        self.entries_max = most;
        self
    }

    /// The line that the schema shows: the meaning and the default.
    pub(super) fn description(&self) -> String {
        match (self.available, self.default) {
            (KeyAvailability::NotYet, _) => format!("{} (not available yet)", self.doc),
            (KeyAvailability::Now, KeyDefault::Nothing) => self.doc.to_owned(),
            (KeyAvailability::Now, KeyDefault::Required) => format!("{} (required)", self.doc),
            (KeyAvailability::Now, KeyDefault::Value(value) | KeyDefault::Phrase(value)) => {
                format!("{} (default: {value})", self.doc)
            }
        }
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
