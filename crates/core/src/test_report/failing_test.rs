//! One test that failed.

use serde::{Deserialize, Serialize};

use crate::time::Span;

/// Maximum bytes of the message of one test.
pub const MESSAGE_MAX: usize = 4 << 10;

/// Maximum bytes of the name of a test, and of its suite.
const TEST_NAME_MAX: usize = 256;

/// A test that failed or had an error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailingTest {
    /// The class, module or suite of the test. May be empty.
    pub suite: String,
    /// The name of the test.
    pub name: String,
    /// The beginning of the message of its failure. May be empty.
    pub message: String,
    /// The duration of the test in milliseconds.
    #[serde(rename = "duration_ms")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub duration: Span,
}

impl FailingTest {
    /// Returns the suite and the name: `calc.tests: adds`.
    pub fn title(&self) -> String {
        match (&*self.suite, &*self.name) {
            ("", name) => name.to_owned(),
            (suite, "") => suite.to_owned(),
            (suite, name) => format!("{suite}: {name}"),
        }
    }

    /// Cuts its texts to their limits, and the message to what is left for messages.
    pub(super) fn limit(&mut self, left: usize) {
        cut(&mut self.suite, TEST_NAME_MAX);
        cut(&mut self.name, TEST_NAME_MAX);
        cut(&mut self.message, left.min(MESSAGE_MAX));
    }
}

/// Cuts a text at the end of a character.
fn cut(text: &mut String, most: usize) {
    text.truncate(text.floor_char_boundary(most));
}
