//! Params of a pipeline.

use serde_json::{Map, Value, json};

/// A param of a pipeline, set with `-p name=value`. A step reads it as an [`Input`](super::Input) of the same name.
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
    /// A text.
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

    /// Sets the default. A param without a default is required.
    pub fn default(self, value: impl Into<Value>) -> Self {
        self.set("default", value)
    }

    /// Sets the description, one line.
    pub fn about(self, text: impl Into<String>) -> Self {
        self.set("about", text.into())
    }

    fn set(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.keys.insert(key.to_owned(), value.into());
        self
    }
}
