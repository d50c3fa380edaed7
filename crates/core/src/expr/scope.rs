//! The values that an expression can read, and its limit of work.

use std::sync::Arc;

use serde_json::{Map, Value};

/// The values that an expression can read, by the first name of their path, and its limit of work.
#[derive(Clone, Debug)]
pub struct ExprScope {
    values: Map<String, Value>,
    /// A value shared by many scopes, under its first name.
    shared: Option<(&'static str, Arc<Value>)>,
    fuel: u64,
}

impl ExprScope {
    /// Maximum values compared or visited by one evaluation. Ordinary expressions stay far below it; the maximum takes
    /// about ten milliseconds.
    pub const FUEL: u64 = 1_000_000;

    /// Creates a scope with these values: `{"params": {"channel": "beta"}, "matrix": …}`.
    pub fn new(values: Map<String, Value>) -> Self {
        Self { values, shared: None, fuel: Self::FUEL }
    }

    /// Adds `value` under the first name `root`.
    #[must_use]
    pub fn with(mut self, root: &str, value: Value) -> Self {
        self.values.insert(root.to_owned(), value);
        self
    }

    /// Adds a shared value under the first name `root`.
    #[must_use]
    pub(crate) fn with_shared(mut self, root: &'static str, value: Arc<Value>) -> Self {
        self.shared = Some((root, value));
        self
    }

    /// Sets the limit of work of one evaluation.
    #[must_use]
    pub fn with_fuel(mut self, fuel: u64) -> Self {
        self.fuel = fuel;
        self
    }

    /// The limit of work of one evaluation.
    pub(super) fn evaluation_fuel(&self) -> u64 {
        self.fuel
    }

    /// Returns the value at a path, or null.
    pub(super) fn get(&self, path: &[String]) -> &Value {
        let shared = |root: &str| {
            let shared = self.shared.as_ref().filter(|(known, _)| *known == root);
            shared.map(|(_, value)| &**value)
        };
        let found = path.split_first().and_then(|(root, names)| {
            let value = self.values.get(root).or_else(|| shared(root))?;
            names.iter().try_fold(value, |value, name| value.get(name))
        });
        found.unwrap_or(&Value::Null)
    }
}

impl Default for ExprScope {
    fn default() -> Self {
        Self::new(Map::new())
    }
}
