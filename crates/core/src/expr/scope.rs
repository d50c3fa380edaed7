//! What an expression may read, and how much work it may do.

use std::sync::Arc;

use serde_json::{Map, Value};

/// The values that an expression can read, by the first name of their path, and a bound on its work.
#[derive(Clone, Debug)]
pub struct ExprScope {
    values: Map<String, Value>,
    /// Values that many scopes have in common, under their first name.
    shared: Option<(&'static str, Arc<Value>)>,
    fuel: u64,
}

impl ExprScope {
    /// Values compared or visited by one evaluation. No honest expression comes near it; one that does ends within
    /// some ten milliseconds.
    pub const FUEL: u64 = 1_000_000;

    /// A scope with these values: `{"params": {"channel": "beta"}, "matrix": …}`.
    pub fn new(values: Map<String, Value>) -> Self {
        Self { values, shared: None, fuel: Self::FUEL }
    }

    /// The same, with `value` under the first name `root`.
    #[must_use]
    pub fn with(mut self, root: &str, value: Value) -> Self {
        self.values.insert(root.to_owned(), value);
        self
    }

    /// The same, with a value under the first name `root` that is not copied.
    #[must_use]
    pub(crate) fn with_shared(mut self, root: &'static str, value: Arc<Value>) -> Self {
        self.shared = Some((root, value));
        self
    }

    /// The same, with another bound on the work of one evaluation.
    #[must_use]
    pub fn with_fuel(mut self, fuel: u64) -> Self {
        self.fuel = fuel;
        self
    }

    /// The bound on the work of one evaluation.
    pub(super) fn evaluation_fuel(&self) -> u64 {
        self.fuel
    }

    /// The value at a path; null if there is none.
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
