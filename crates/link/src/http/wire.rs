//! What the bodies and headers say, apart from the session's own messages.

use serde::{Deserialize, Serialize};
use windlass_core::id::{Fence, Incarnation, Term, WorkerId};
use windlass_core::time::Time;
use windlass_store::journal;
use windlass_store::journal::{BatchId, Position, RecordedEvent, StoredBatch};
use windlass_store::logs::LogId;

use crate::output::bytes;

/// Says how long a log is, beside bytes of it.
pub const LOG_SIZE_HEADER: &str = "windlass-log-size";

/// Names a submission, so that repeating it does not make a second run.
pub const KEY_HEADER: &str = "idempotency-key";

/// The kind of content that an [`EventsPage`] is.
pub const EVENTS_TYPE: &str = "application/vnd.windlass.events";

/// The kind of content that a [`JournalPage`] is, and a state of the engine.
pub const JOURNAL_TYPE: &str = "application/vnd.windlass.journal";

/// Says up to where the journal was looked through, or which position a state is of.
pub const POSITION_HEADER: &str = "windlass-position";

/// Names the batch that ends at the position of a state.
pub const BATCH_HEADER: &str = "windlass-batch";

/// Says for how many milliseconds an observer has not had everything that there was.
pub const LAG_HEADER: &str = "windlass-lag-ms";

/// When an observer whose leader is away last had everything: its answer may be out of date since then.
pub const STALE_HEADER: &str = "windlass-stale-since";

/// Tells one cluster from another: made once, when its store is made.
pub type ClusterId = String;

/// What a cluster says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterDescription {
    /// Which one it is.
    pub id: ClusterId,
    /// The version of the windlass that answers.
    pub version: String,
    /// The version of the protocol that it speaks.
    pub protocol: u32,
    /// Where it wants to be reached.
    pub advertise: String,
    /// What the controller that answers is.
    #[serde(default)]
    pub role: ControllerRole,
    /// Who leads, as far as that is known.
    #[serde(default)]
    pub leader: Option<ClusterLeader>,
    /// The newest term that it knows of.
    #[serde(default)]
    pub term: u64,
    /// The last event that it knows of.
    #[serde(default)]
    pub position: u64,
    /// How long ago it had everything that there was.
    #[serde(default)]
    pub lag_ms: u64,
}

/// What a controller is in its cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControllerRole {
    /// It decides.
    #[default]
    Leader,
    /// It follows, and takes over.
    Standby,
    /// It follows, and only answers.
    Observer,
}

/// Who leads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterLeader {
    /// Its name.
    pub node: String,
    /// Where it is reached, if it says so.
    pub address: Option<String>,
}

/// A guard's report: nothing of a worker's life is left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeathNoticeBody {
    /// Which life.
    pub incarnation: Incarnation,
    /// Every lease that was started and has no verdict.
    pub started: Vec<Fence>,
}

/// Batches of a journal as they are kept, for controllers that observe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalPage {
    /// The last event's position in the journal.
    pub head: u64,
    /// The batches, in order.
    batches: Vec<JournalPageBatch>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct JournalPageBatch {
    position: u64,
    term: u64,
    batch: u64,
    #[serde(with = "bytes")]
    events: Vec<u8>,
}

impl JournalPage {
    /// A page of the first of these batches, up to about so many bytes.
    pub fn new(batches: &[StoredBatch], head: u64, most: usize) -> Self {
        let mut room = Some(most);
        let paged = batches.iter().map_while(|stored| {
            let left = room?;
            let events = journal::encode_events(&stored.events);
            room = left.checked_sub(events.len());
            let (position, term, batch) = (stored.position.0, stored.term.0, stored.batch.0);
            Some(JournalPageBatch { position, term, batch, events })
        });
        Self { head, batches: paged.collect() }
    }

    /// The bytes of the page.
    pub fn encode(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("a page is plain data")
    }

    /// Reads what [`encode`](Self::encode) wrote, or says what is wrong with it.
    pub fn decode(bytes: &[u8]) -> Result<Self, String> {
        postcard::from_bytes(bytes)
            .map_err(|error| format!("this is no page of a journal: {error}"))
    }

    /// The batches.
    pub fn unpack(self) -> Result<Vec<StoredBatch>, String> {
        let stored = |it: JournalPageBatch| {
            let (position, events) = (Position(it.position), journal::decode_events(&it.events)?);
            Ok(StoredBatch { position, term: Term(it.term), batch: BatchId(it.batch), events })
        };
        self.batches.into_iter().map(stored).collect()
    }
}

/// Events of a run as windlass keeps them, for its own command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventsPage {
    /// The workers that had leases of the run, by name.
    pub workers: Vec<(u64, String)>,
    /// The slots of those that are there now, and since when they are.
    pub slots: Vec<(u64, u32, Time)>,
    /// Whether there are more behind them already.
    pub more: bool,
    /// The position of each event.
    pub positions: Vec<u64>,
    /// The events, as in a batch of the journal.
    #[serde(with = "bytes")]
    pub events: Vec<u8>,
}

impl EventsPage {
    /// A page of these events.
    pub fn new(
        workers: &[(WorkerId, String)],
        events: Vec<(Position, RecordedEvent)>,
        more: bool,
    ) -> Self {
        let workers = workers.iter().map(|(worker, name)| (worker.0, name.clone())).collect();
        let (positions, events): (Vec<u64>, Vec<RecordedEvent>) =
            events.into_iter().map(|(position, recorded)| (position.0, recorded)).unzip();
        Self {
            workers,
            slots: Vec::new(),
            more,
            positions,
            events: journal::encode_events(&events),
        }
    }

    /// The same, with the slots of workers that are there.
    #[must_use]
    pub fn with_slots(self, slots: impl IntoIterator<Item = (WorkerId, u32, Time)>) -> Self {
        let slots = slots.into_iter().map(|(worker, slots, since)| (worker.0, slots, since));
        Self { slots: slots.collect(), ..self }
    }

    /// The bytes of the page.
    pub fn encode(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("a page is plain data")
    }

    /// Reads what [`encode`](Self::encode) wrote, or says what is wrong with it.
    pub fn decode(bytes: &[u8]) -> Result<Self, String> {
        postcard::from_bytes(bytes).map_err(|error| format!("this is no page of events: {error}"))
    }

    /// The events, each with its position.
    pub fn unpack(&self) -> Result<Vec<(Position, RecordedEvent)>, String> {
        let events = journal::decode_events(&self.events)?;
        if events.len() != self.positions.len() {
            return Err("a page with more events than positions, or fewer".to_owned());
        }
        Ok(self.positions.iter().copied().map(Position).zip(events).collect())
    }
}

/// Which bytes of a large result a worker wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueFetchRequest {
    /// Which result.
    pub value: LogId,
    /// From where.
    pub from: u64,
}
