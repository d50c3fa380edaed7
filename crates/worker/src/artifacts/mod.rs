//! The files that steps hand on.
//!
//! ```text
//!  step ends ──► keep: capture the selected files ──► object store ──► Outcome { artifacts: manifest } ──► journal
//!  step starts ◄── fetch: manifests named in the grant's values ◄──┘
//! ```
//!
//! The outcome names the manifest only when the store has every file of it, so an accepted outcome never names an absent
//! object. Steps get exactly the manifests of final outcomes; files of attempts that were retried or superseded are never
//! seen.
//!
//! | file | content |
//! |---|---|
//! | `object_access` | the object store of a worker, or the reason why it has none |
//! | `fetch` | reads the artifacts of needs and writes them to a workspace |
//! | `write_files` | files that appear whole in a folder that others use too |
//! | `keep` | captures and stores the artifacts of an attempt |
//! | `attempt_files_error` | why an attempt has no files |

mod attempt_files_error;
mod fetch;
mod keep;
mod object_access;
mod write_files;

pub use attempt_files_error::AttemptFilesError;
pub use fetch::{ArtifactTarget, fetch_artifacts};
pub use keep::{ArtifactKeeper, KeptArtifacts};
pub use object_access::ObjectAccess;
