//! The link over HTTP: a worker anywhere, and a leader that it reaches.
//!
//! ```text
//!  worker ── POST /workers/{id}/join       ──► leader    registers; says which cluster this is
//!         ── POST /workers/{id}/exchange   ──►           parked until there is something to say (long poll)
//!         ── POST /workers/{id}/logs       ──►           bytes of output, on a connection of their own
//!         ── POST /workers/{id}/values     ──►           bytes of a result that is too large for a grant
//!         ── POST /workers/{id}/cancel     ──►           a step has its run end
//!  guard  ── POST /workers/{id}/ended      ──►           when the worker has died and nothing of its steps is left
//! ```
//!
//! Everything goes out from the worker, which opens no port. The bodies are the session's messages as JSON; output is
//! bytes. Each request carries
//!
//! - `windlass-protocol`, the version of this page: another one is refused, with both named;
//! - `windlass-worker`, the worker's [secret](windlass_net::credentials::WorkerSecret), from which `{id}` follows;
//! - `authorization: Bearer …`, where the cluster asks for a token.
//!
//! Connections are kept and used again. A worker has two for its exchanges, since a new exchange leaves while the one
//! before is parked, and one for output, so that a flood of it delays no lease. Output is acknowledged with the number of
//! bytes that the leader would take next, its *credit*: a leader that is slow is sent less.
//!
//! A leader that is not one answers 503 and names who leads. A worker follows only to hosts that it was given, or, with TLS
//! and the cluster's own authority (`--ca`), to whoever that vouches for.

mod death_notice;
mod leader_liveness;
mod wire;
mod worker_link;

pub use death_notice::{report_own_end, send_death_notice};
pub use wire::{
    BATCH_HEADER, ClusterDescription, ClusterId, ClusterLeader, ControllerRole, DeathNoticeBody,
    EVENTS_TYPE, EventsPage, JOURNAL_TYPE, JournalPage, KEY_HEADER, LAG_HEADER, LOG_SIZE_HEADER,
    POSITION_HEADER, STALE_HEADER, ValueFetchRequest,
};
pub use worker_link::HttpWorkerLink;
