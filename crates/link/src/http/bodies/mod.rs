//! Bodies of the HTTP API that both ends know: the controller reads or writes them, and so does the command line.
//!
//! Their comments describe them in the OpenAPI document, which is made of these types. Bodies that only the controller
//! knows are beside its handlers.
//!
//! | file | content |
//! |---|---|
//! | `runs` | a submission, a rerun, a cancellation, and the answer |
//! | `logs` | logs, summaries and lines of a run |
//! | `objects` | the size of an upload |
//! | `test_reports` | the results of the tests that steps ran |
//! | `access` | a token, a lock that is released by force |

mod access;
mod logs;
mod objects;
mod runs;
mod test_reports;

pub use access::{
    CreateTokenBody, CreatedTokenBody, ReleaseLockBody, ReleasedLockBody, TOKEN_EXPIRES_MAX_MS,
};
pub use logs::{LogEntryBody, LogSearchBody, LogSearchLineBody, StepSummaryBody};
pub use objects::UploadSizeBody;
pub use runs::{
    CancelRunBody, ParamValue, RerunBody, StepSelectionBody, SubmitRunBody, SubmittedRunBody,
};
pub use test_reports::StepTestsBody;
