//! Lists in a query parameter: `status=failed,cancelled`.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use windlass_core::json_form::{AsWord, WordSet};

/// Words of a [`WordSet`], separated by commas. An empty list selects everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CommaList<T>(Vec<T>);

impl<T> Default for CommaList<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: WordSet + PartialEq> CommaList<T> {
    /// Whether the list selects this value.
    pub(super) fn selects(&self, value: T) -> bool {
        self.0.is_empty() || self.0.contains(&value)
    }

    /// The values in the list.
    pub(super) fn values(&self) -> &[T] {
        &self.0
    }
}

impl<'de, T: WordSet> Deserialize<'de> for CommaList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let words = text.split(',').filter(|word| !word.is_empty());
        let read = |word: &str| word.parse().map(|AsWord(value)| value).map_err(D::Error::custom);
        words.map(read).collect::<Result<_, _>>().map(Self)
    }
}

mod schema {
    use std::borrow::Cow;

    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

    use super::{CommaList, WordSet};

    impl<T: WordSet> JsonSchema for CommaList<T> {
        fn inline_schema() -> bool {
            true
        }

        fn schema_name() -> Cow<'static, str> {
            "CommaList".into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            let word = T::WORDS.join("|");
            json_schema!({ "type": "string", "pattern": format!("^({word})?(,({word})?)*$") })
        }
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::outcome::RunStatus;

    use super::*;

    fn read(text: &str) -> Result<CommaList<RunStatus>, serde_json::Error> {
        serde_json::from_value(text.into())
    }

    #[test]
    fn words_are_separated_by_commas() {
        let listed = [RunStatus::Failed, RunStatus::Cancelled];
        assert_eq!(read("failed,,cancelled").unwrap(), CommaList(listed.to_vec()));
        assert!(read("failed").unwrap().selects(RunStatus::Failed));
        assert!(!read("failed").unwrap().selects(RunStatus::Running));
    }

    #[test]
    fn empty_list_selects_everything() {
        assert!(read("").unwrap().selects(RunStatus::Running));
        assert!(CommaList::default().selects(RunStatus::Running));
    }

    #[test]
    fn unknown_word_is_refused() {
        let error = read("failed,over").unwrap_err().to_string();
        assert!(error.starts_with("`over` is none of running, "), "{error}");
    }
}
