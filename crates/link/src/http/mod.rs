//! The link over HTTP: a worker connects to a leader that it can reach.
//!
//! ```text
//!  worker ── POST /workers/{id}/join       ──► leader    registers; says which cluster this is
//!         ── POST /workers/{id}/exchange   ──►           parked until the leader has news (long poll)
//!         ── POST /workers/{id}/logs       ──►           bytes of output, on a separate connection
//!         ── POST /workers/{id}/values     ──►           bytes of a result that is too large for a grant
//!         ── POST /workers/{id}/cancel     ──►           a step cancels its run
//!  guard  ── POST /workers/{id}/ended      ──►           when the worker has died and nothing of its steps is left
//! ```
//!
//! The worker opens every connection and listens on no port. Bodies are the session's messages as JSON; output is sent
//! as bytes. Each request carries
//!
//! - `windlass-protocol`, the protocol version; another version is refused with an error that names both;
//! - `windlass-worker`, the worker's [secret](windlass_net::credentials::WorkerSecret), from which `{id}` follows;
//! - `authorization: Bearer …`, if the cluster requires a token.
//!
//! Connections are reused. A worker has two for its exchanges, since a new exchange leaves while the previous one is
//! parked. A third connection carries output, so that a flood of it delays no lease. An acknowledgement of output
//! states the number of bytes that the leader accepts next, its *credit*: a slow leader is sent less.
//!
//! Files travel on connections of their own, to any controller ([`HttpObjects`]).
//!
//! A controller that is not the leader answers 503 and names the leader. A worker follows only to configured hosts or,
//! with TLS and a CA bundle (`--ca`), to any host that this CA vouches for.

mod bodies;
mod death_notice;
mod leader_liveness;
mod objects;
mod wire;
mod worker_link;

pub use bodies::{
    CancelRunBody, CreateTokenBody, CreatedTokenBody, LogEntryBody, LogSearchBody,
    LogSearchLineBody, ParamValue, ReleaseLockBody, ReleasedLockBody, RerunBody, StepSelectionBody,
    StepSummaryBody, StepTestsBody, SubmitRunBody, SubmittedRunBody, TOKEN_EXPIRES_MAX_MS,
    UploadSizeBody,
};
pub use death_notice::{report_own_end, send_death_notice};
pub use objects::{
    HttpObjects, IDS_BODY_MAX, OBJECTS_BODY_MAX, ObjectFrameError, decode_ids, decode_objects,
    encode_ids, encode_objects,
};
pub use wire::{
    BATCH_HEADER, ClusterDescription, ClusterId, ClusterLeader, ControllerRole, DeathNoticeBody,
    EVENTS_TYPE, EventsPage, JOURNAL_TYPE, JournalPage, KEY_HEADER, LAG_HEADER, LOG_SIZE_HEADER,
    PIECE_HEADER, POSITION_HEADER, STALE_HEADER, ValueFetchRequest,
};
pub use worker_link::HttpWorkerLink;
