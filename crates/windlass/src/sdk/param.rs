//! A value that is given when a run begins.

use serde_json::{Map, Value, json};

/// A param of a pipeline: given with `-p name=value`, and a step's [`Input`](super::Input) of the same name.
///
/// ```
/// use windlass::{Param, Pipeline};
///
/// let pipeline = Pipeline::new("ship")
///     .param("channel", Param::one_of(["beta", "stable"]).default("beta"))
///     .param("count", Param::number().default(3));
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Param {
    pub(super) keys: Map<String, Value>,
}

impl Param {
    /// Text.
    pub fn text() -> Self {
        Self { keys: Map::new() }.set("type", "string")
    }

    /// A number.
    pub fn number() -> Self {
        Self { keys: Map::new() }.set("type", "number")
    }

    /// `true` or `false`.
    pub fn flag() -> Self {
        Self { keys: Map::new() }.set("type", "boolean")
    }

    /// One of these texts.
    pub fn one_of<T: ToString>(choices: impl IntoIterator<Item = T>) -> Self {
        let choices: Vec<String> = choices.into_iter().map(|choice| choice.to_string()).collect();
        Self { keys: Map::new() }.set("choose", json!(choices))
    }

    /// What it is if not given; without one it must be given.
    pub fn default(self, value: impl Into<Value>) -> Self {
        self.set("default", value)
    }

    /// One line on what it is for.
    pub fn about(self, text: impl Into<String>) -> Self {
        self.set("about", text.into())
    }

    fn set(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.keys.insert(key.to_owned(), value.into());
        self
    }
}
