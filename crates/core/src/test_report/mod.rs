//! Test reports that steps write: counts, and the tests that failed.
//!
//! | file | content |
//! |---|---|
//! | [`report`] | the results of all files of a step |
//! | [`junit`] | reads `JUnit` XML in the dialects of common test runners |
//! | `xml_reader` | reads elements, attributes and text of an XML document |
//! | [`failing_test`] | one test that failed, within limits |
//!
//! The files come from the programs of users, so everything here has a limit, and nothing is fetched or expanded.

pub mod failing_test;
pub mod junit;
pub mod report;
#[cfg(test)]
mod tests;
mod xml_reader;

pub use failing_test::{FailingTest, MESSAGE_MAX};
pub use junit::{JunitError, read_junit};
pub use report::{FAILING_MAX, MESSAGES_MAX, REPORT_JSON_MAX, TestReport};
pub use xml_reader::XmlProblem;
