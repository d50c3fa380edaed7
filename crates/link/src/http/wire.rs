//! Bodies and headers of the HTTP link, except the session's own messages.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use windlass_core::id::{Fence, Incarnation, Term, WorkerId};
use windlass_core::json_form::AsWord;
use windlass_core::time::Time;
use windlass_core::word_set;
use windlass_store::journal;
use windlass_store::journal::{BatchId, EventBatch, Position, RecordedEvent};
use windlass_store::logs::LogId;

use crate::output::bytes;

/// Header: the length of a log, sent with bytes of it.
pub const LOG_SIZE_HEADER: &str = "windlass-log-size";

/// Header: the key of a submission, so that repeating it does not create a second run.
pub const KEY_HEADER: &str = "idempotency-key";

/// The content type of an [`EventsPage`].
pub const EVENTS_TYPE: &str = "application/vnd.windlass.events";

/// The content type of a [`JournalPage`] and of an engine state.
pub const JOURNAL_TYPE: &str = "application/vnd.windlass.journal";

/// Header: the position up to which the journal was searched, or the position of a state.
pub const POSITION_HEADER: &str = "windlass-position";

/// Header: the BLAKE3 hash of a body, in hexadecimal digits. The receiver of a piece of an object compares it.
pub const PIECE_HEADER: &str = "windlass-piece";

/// Header: the batch that ends at the position of a state.
pub const BATCH_HEADER: &str = "windlass-batch";

/// Header: for how many milliseconds a read-only replica has been behind its source.
pub const LAG_HEADER: &str = "windlass-lag-ms";

/// Header: the time at which a replica that lost its leader was last up to date. Its answer may be stale since then.
pub const STALE_HEADER: &str = "windlass-stale-since";

/// Identifies a cluster. It is created with the store.
pub type ClusterId = String;

/// A cluster's description of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Cluster"))]
pub struct ClusterDescription {
    /// The cluster's id.
    pub id: ClusterId,
    /// The version of the windlass program that answers.
    pub version: String,
    /// The protocol version that it speaks.
    pub protocol: u32,
    /// The address that the controller advertises.
    pub advertise: String,
    /// The role of the controller that answers.
    #[serde(default)]
    pub role: AsWord<ControllerRole>,
    /// The leader, if known.
    #[serde(default)]
    pub leader: Option<ClusterLeader>,
    /// The newest term that it knows.
    #[serde(default)]
    pub term: u64,
    /// The position of the last event that it knows.
    #[serde(default)]
    pub position: u64,
    /// For how many milliseconds it has not been up to date.
    #[serde(default)]
    pub lag_ms: u64,
}

/// The role of a controller in its cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ControllerRole {
    /// It leads: it makes the decisions.
    #[default]
    Leader,
    /// It follows the leader and can take over.
    Standby,
    /// It follows the leader and only answers queries.
    Observer,
}

word_set!(ControllerRole { Leader => "leader", Standby => "standby", Observer => "observer" });

/// The leader of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ClusterLeader"))]
pub struct ClusterLeader {
    /// The leader's node name.
    pub node: String,
    /// The address that it advertises, if any.
    pub address: Option<String>,
}

/// The body of a death notice: nothing of a worker's incarnation is left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeathNoticeBody {
    /// The incarnation that ended.
    pub incarnation: Incarnation,
    /// Every lease that was started and has no verdict yet.
    pub started: Vec<Fence>,
}

/// Batches of a journal in stored form, for read-only replicas.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalPage {
    /// The last event's position in the journal.
    pub head: u64,
    /// The batches, in order.
    batches: Vec<JournalPageBatch>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct JournalPageBatch {
    after: u64,
    term: u64,
    batch: u64,
    #[serde(with = "bytes")]
    events: Vec<u8>,
}

impl JournalPage {
    /// Returns a page of the first of these batches, up to about `most` bytes.
    pub fn new(batches: &[Arc<EventBatch>], head: u64, most: usize) -> Self {
        let mut room = Some(most);
        let paged = batches.iter().map_while(|stored| {
            let left = room?;
            let events = journal::encode_events(&stored.events);
            room = left.checked_sub(events.len());
            let (after, term, batch) = (stored.after.0, stored.term.0, stored.id.0);
            Some(JournalPageBatch { after, term, batch, events })
        });
        Self { head, batches: paged.collect() }
    }

    /// Encodes the page.
    pub fn encode(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("a page is plain data")
    }

    /// Decodes the output of [`encode`](Self::encode), or describes the error.
    pub fn decode(bytes: &[u8]) -> Result<Self, String> {
        postcard::from_bytes(bytes).map_err(|error| format!("malformed journal page: {error}"))
    }

    /// The batches.
    pub fn unpack(self) -> Result<Vec<Arc<EventBatch>>, String> {
        self.batches.into_iter().map(JournalPageBatch::unpack).collect()
    }
}

impl JournalPageBatch {
    fn unpack(self) -> Result<Arc<EventBatch>, String> {
        let after = Position(self.after);
        let events = decode_events(&self.events, after.following())?;
        Ok(Arc::new(EventBatch { term: Term(self.term), id: BatchId(self.batch), after, events }))
    }
}

/// A page of a run's events in stored form, for the windlass command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventsPage {
    /// The workers that had leases of the run, by name.
    pub workers: Vec<(u64, String)>,
    /// The slots of each connected worker, and the time since which it is connected.
    pub slots: Vec<(u64, u32, Time)>,
    /// Whether more events follow already.
    pub more: bool,
    /// The position of each event.
    pub positions: Vec<u64>,
    /// The events, as in a batch of the journal.
    #[serde(with = "bytes")]
    pub events: Vec<u8>,
}

impl EventsPage {
    /// A page of these events.
    pub fn new(workers: &[(WorkerId, String)], events: &[Arc<RecordedEvent>], more: bool) -> Self {
        let workers = workers.iter().map(|(worker, name)| (worker.0, name.clone())).collect();
        let positions = events.iter().map(|recorded| recorded.position.0).collect();
        let events = journal::encode_events(events);
        Self { workers, slots: Vec::new(), more, positions, events }
    }

    /// Adds the slots of connected workers.
    #[must_use]
    pub fn with_slots(self, slots: impl IntoIterator<Item = (WorkerId, u32, Time)>) -> Self {
        let slots = slots.into_iter().map(|(worker, slots, since)| (worker.0, slots, since));
        Self { slots: slots.collect(), ..self }
    }

    /// Encodes the page.
    pub fn encode(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("a page is plain data")
    }

    /// Decodes the output of [`encode`](Self::encode), or describes the error.
    pub fn decode(bytes: &[u8]) -> Result<Self, String> {
        postcard::from_bytes(bytes).map_err(|error| format!("malformed page of events: {error}"))
    }

    /// The events.
    pub fn unpack(&self) -> Result<Vec<Arc<RecordedEvent>>, String> {
        let positions = self.positions.iter().copied().map(Position);
        let events = decode_events(&self.events, positions)?;
        if events.len() != self.positions.len() {
            return Err(
                "malformed page of events: the numbers of events and positions differ".to_owned()
            );
        }
        Ok(events)
    }
}

fn decode_events(
    bytes: &[u8],
    positions: impl IntoIterator<Item = Position>,
) -> Result<Vec<Arc<RecordedEvent>>, String> {
    journal::decode_events(bytes, positions).map_err(|error| error.to_string())
}

/// A request for bytes of a large result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueFetchRequest {
    /// The result.
    pub value: LogId,
    /// The first byte requested.
    pub from: u64,
}
