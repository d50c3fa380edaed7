//! Shared parts of commands that read runs: the source of the runs, and the queries.
//!
//! ```text
//! command ──► BlockingRunSource ──► RunSource ──┬──► LocalRunSource    a store in a folder, read beside its writer
//!                                               └──► RemoteRunSource   a controller, over its API
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `origin` | choosing the source: arguments, variables, the saved context, the folder |
//! | `saved_context` | the controller that was saved for later commands |
//! | `cluster_client` | requests to a controller, and the errors for its refusals |
//! | `leader_search` | finding the leader of several controllers |
//! | `leader_access` | the leader, for tokens, workers and locks |
//! | `source` | the interface: all queries about runs |
//! | `local_source`, `remote_source` | its two implementations |
//! | `retry` | retries while a source is unreachable |
//! | `blocking_source` | the queries of commands, one after the other |

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
pub(crate) use source::{
    KnownRun, RunEventsPage, RunListEntry, RunSource, interrupted_run_error, tail,
};
