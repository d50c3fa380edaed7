//! The files that steps hand on.
//!
//! ```text
//!  step ends ──► keep: capture the selected files ──► object store ──► Outcome { artifacts: manifest } ──► journal
//!  step starts ◄── fetch: manifests named in the grant's values ◄──┘
//! ```
//!
//! The outcome names the manifest only when the store has every file of it, so an accepted outcome never names an absent
//! object. Steps get exactly the manifests of accepted outcomes; files of attempts that failed or were superseded are never
//! seen.
//!
//! | file | content |
//! |---|---|
//! | `object_access` | the object store of a worker, or the reason why it has none |
//! | `fetch` | writes the artifacts of needs to a workspace |
//! | `keep` | captures and stores the artifacts of an attempt |

mod fetch;
mod keep;
mod object_access;

pub use fetch::{ExistingFiles, fetch_artifacts};
pub use keep::{ArtifactKeeper, KeptArtifacts};
pub use object_access::ObjectAccess;
