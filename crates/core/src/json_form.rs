//! Types for the fields of JSON bodies: values that JSON shows as text.
//!
//! Bodies of the HTTP API and objects that `--json` prints are structs of such fields. With the feature `schema` each of
//! them derives its JSON Schema, from which the OpenAPI document is made: the code that writes a body and the document
//! that describes it cannot differ.

use std::fmt::Display;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A value whose JSON form is the text that `Display` writes, such as the id of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct AsText<T>(pub T);

impl<T: Display> Serialize for AsText<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de, T: FromStr<Err: Display>> Deserialize<'de> for AsText<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(D::Error::custom)
    }
}

/// An enumeration with one word for each variant; see [`word_set!`](crate::word_set).
pub trait WordSet: Copy + 'static {
    /// The words of all variants.
    const WORDS: &'static [&'static str];

    /// The variant's word in JSON and SQL.
    fn word(self) -> &'static str;

    /// Finds the variant with this word.
    fn from_word(word: &str) -> Option<Self>;
}

/// Gives each variant of an enumeration its word: `word_set!(StopMode { Term => "term", Kill => "kill" })`.
///
/// The type gets `ALL`, `word` and [`WordSet`](crate::json_form::WordSet). A list without one of the variants does not
/// compile.
#[macro_export]
macro_rules! word_set {
    ($type:ident { $($variant:ident => $word:literal),+ $(,)? }) => {
        impl $type {
            /// All variants, in order.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The word in JSON and SQL.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }

        impl $crate::json_form::WordSet for $type {
            const WORDS: &'static [&'static str] = &[$($word),+];

            fn word(self) -> &'static str {
                self.word()
            }

            fn from_word(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.word() == word)
            }
        }
    };
}

/// A variant of a [`WordSet`], whose JSON form is its word. The schema lists all words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct AsWord<T>(pub T);

impl<T: WordSet> Serialize for AsWord<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.word())
    }
}

impl<T: WordSet> FromStr for AsWord<T> {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let unknown = || format!("`{word}` is none of {}", T::WORDS.join(", "));
        T::from_word(word).map(Self).ok_or_else(unknown)
    }
}

impl<'de, T: WordSet> Deserialize<'de> for AsWord<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(feature = "schema")]
mod schema {
    use std::borrow::Cow;

    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

    use super::{AsText, AsWord, WordSet};
    use crate::engine::CancelReason;
    use crate::id::{Fence, RunId, StepIx, WorkerId};
    use crate::outcome::StepStatus;
    use crate::report::UtcTime;
    use crate::session::StopReason;
    use crate::time::Time;

    /// Gives types the schema of their serde form, which is that of another type.
    macro_rules! schema_as {
        ($($type:ty => $form:ty),+ $(,)?) => {
            $(impl JsonSchema for $type {
                fn inline_schema() -> bool {
                    true
                }

                fn schema_name() -> Cow<'static, str> {
                    stringify!($type).into()
                }

                fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                    <$form>::json_schema(generator)
                }
            })+
        };
    }

    schema_as! {
        StepIx => u32,
        RunId => u64,
        WorkerId => u64,
        Fence => u64,
        Time => u64,
        StepStatus => AsWord<StepStatus>,
        StopReason => AsWord<StopReason>,
        CancelReason => AsWord<CancelReason>,
    }

    impl<T> JsonSchema for AsText<T> {
        fn inline_schema() -> bool {
            true
        }

        fn schema_name() -> Cow<'static, str> {
            "Text".into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!({ "type": "string" })
        }
    }

    impl<T: WordSet> JsonSchema for AsWord<T> {
        fn inline_schema() -> bool {
            true
        }

        fn schema_name() -> Cow<'static, str> {
            "Word".into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!({ "type": "string", "enum": T::WORDS })
        }
    }

    impl JsonSchema for UtcTime {
        fn inline_schema() -> bool {
            true
        }

        fn schema_name() -> Cow<'static, str> {
            "UtcTime".into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!({ "type": "string", "format": "date-time" })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::CancelReason;
    use crate::id::RunId;
    use crate::outcome::{RunStatus, StepStatus};
    use crate::session::StopReason;

    #[test]
    fn text_and_words_are_read_as_they_were_written() {
        let run = AsText(RunId(77));
        let json = serde_json::to_string(&run).unwrap();
        assert_eq!(json, "\"2d\"");
        assert_eq!(serde_json::from_str::<AsText<RunId>>(&json).unwrap(), run);
        for status in RunStatus::ALL {
            let json = serde_json::to_string(&AsWord(status)).unwrap();
            assert_eq!(json, format!("\"{status}\""));
            assert_eq!(serde_json::from_str::<AsWord<RunStatus>>(&json).unwrap().0, status);
        }
    }

    #[test]
    fn types_with_the_schema_of_words_are_serialized_as_words() {
        fn check<T: WordSet + Serialize>(all: impl IntoIterator<Item = T>) {
            for value in all {
                assert_eq!(serde_json::to_value(value).unwrap(), value.word());
            }
        }
        check(StepStatus::ALL);
        check(StopReason::ALL);
        check(CancelReason::ALL);
    }

    #[test]
    fn unknown_word_is_refused_with_the_known_ones() {
        let error = serde_json::from_str::<AsWord<RunStatus>>("\"over\"").unwrap_err();
        let known = "`over` is none of running, cancelling, succeeded, failed, cancelled";
        assert!(error.to_string().starts_with(known), "{error}");
    }
}
