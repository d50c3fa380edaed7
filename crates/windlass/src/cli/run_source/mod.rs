//! What commands that read runs have in common: where they look, and what they can ask there.
//!
//! ```text
//!  command ──► Reading ──► Source ──┬──► Local    a store in a folder, beside whoever writes to it
//!                                   └──► Remote   a controller, over its API
//! ```
//!
//! | file | what it does |
//! |---|---|
//! | `origin` | where a command looks: arguments, variables, what was saved, the folder |
//! | `saved_context` | the controller that was saved for later commands |
//! | `cluster_client` | requests to a controller, and what its refusals mean here |
//! | `leader_access` | whoever decides on what is no run: tokens, workers, locks |
//! | `source` | the seam: all that can be asked of runs, wherever they are |
//! | `local_source`, `remote_source` | its two sides |
//! | `retry` | asks again while a source is away |
//! | `blocking_source` | the questions of commands, one after the other |

mod blocking_source;
mod cluster_client;
mod leader_access;
mod leader_search;
mod local_source;
mod origin;
mod remote_source;
mod retry;
mod saved_context;
mod source;

pub(crate) use blocking_source::{BlockingRunSource, runtime, step};
pub(crate) use cluster_client::{ClusterClient, moment_of, segment};
pub(crate) use leader_access::LeaderAccess;
pub(crate) use local_source::LocalRunSource;
pub(crate) use origin::{
    ControllerArgs, OriginArgs, RunOrigin, client_setting, folder, no_controller_error, root,
    store_flag,
};
pub(crate) use remote_source::RemoteRunSource;
pub(crate) use retry::retry_while_away;
pub(crate) use saved_context::SavedContext;
pub(crate) use source::{KnownRun, RunEventsPage, RunListEntry, RunSource, tail};
