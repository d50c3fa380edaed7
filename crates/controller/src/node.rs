//! The node: it stands by, leads, and starts again.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};
use windlass_core::engine::{ApplyError, Engine, EngineConfig, ProvenTime};
use windlass_core::id::{RunId, Term, WorkerId};
use windlass_core::time::{Span, Time};
use windlass_net::clock::ProcessClock;
use windlass_net::shutdown::ShutdownReceiver;
use windlass_store::db::StoreError;
use windlass_store::journal::{
    CampaignOutcome, CurrentLeader, Journal, JournalLeadership, LeaderCandidate, Position,
};

use super::engine_view::{EngineStartState, SharedView};
use super::handle::{NodeHandle, NodeRequest};
use super::leader_loop::{HAND_OVER_MAX, LeaderLoop, TermEnd, WonCampaign};
use super::metrics::MetricsRegistry;
use super::peers::LeaderConnection;
use super::published_events::PublishedEvents;
use super::startup_mark::StartupMark;

/// Requests that may wait for the leader. When the inbox is full, clients wait to enqueue: a leader that is slower than
/// its clients slows them down.
const INBOX_MAX: usize = 1_024;

/// The time between two reads of the journal by a standby.
pub(super) const POLL_EVERY: Duration = Duration::from_millis(250);

/// Events that are read from the journal at a time.
const PAGE: usize = 16_384;

/// The time that a node that stops leading waits for the journal to take its term back.
const RESIGN_WITHIN: Duration = Duration::from_secs(2);

/// The time that a retired node waits for a successor. Standbys read the journal several times per second.
const SUCCESSOR_WAIT_MAX: Duration = Duration::from_secs(2);

/// A leader that panics this often in a row, without a prospect that the next term does better, ends its node.
const PANICS_MAX: u32 = 3;

/// The settings of a node.
#[derive(Clone, Debug)]
pub struct NodeConfig {
    /// The name and address of the node, for its clients.
    pub candidate: LeaderCandidate,
    /// The limits and intervals of the engine.
    pub engine: EngineConfig,
    /// The lease duration.
    pub ttl: Span,
    /// The worker that runs on this node, if there is one.
    pub own: Option<WorkerId>,
    /// What the node does while another one leads.
    pub stand_by: StandbyPolicy,
    /// The clock of the leader lease. Where terms expire, it has to count suspension.
    pub clock: ProcessClock,
    /// The socket at which the leader answers the other nodes of its host. Without it, a standby refuses requests.
    pub leader_socket: Option<PathBuf>,
}

/// What a node does while another one leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandbyPolicy {
    /// It stands by.
    Wait,
    /// It stands by for a node of its host, which has no address. If the leader has one, it ends with
    /// [`NodeError::Led`].
    WaitForPeers,
    /// It ends with [`NodeError::Led`].
    Refuse,
}

impl StandbyPolicy {
    /// Whether the node ends while a leader leads that has an address, or has none.
    const fn refuses(self, has_address: bool) -> bool {
        match self {
            Self::Wait => false,
            Self::WaitForPeers => has_address,
            Self::Refuse => true,
        }
    }
}

/// The reason for which a node ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NodeError {
    /// The store failed in a way that does not pass.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another node leads.
    #[error("{} leads already{}", node, pid.map(|pid| format!(" (process {pid})")).unwrap_or_default())]
    Led {
        /// The leader's name.
        node: String,
        /// The leader's process, if it is on this machine.
        pid: Option<u32>,
        /// The leader's address for clients.
        address: Option<String>,
    },
    /// The journal has an event that this engine cannot apply.
    #[error("the journal does not make sense at position {position}: {error}; nothing was changed")]
    Nonsense {
        /// The position of the batch.
        position: Position,
        /// The error of the engine.
        error: ApplyError,
    },
    /// No readable snapshot contains the events that were pruned from the journal.
    #[error(
        "events up to position {upto} are in a snapshot that this windlass cannot read: use the version that wrote it"
    )]
    NoSnapshot {
        /// The position of the last pruned event.
        upto: Position,
    },
    /// The store is not the one that this node has followed: it lacks committed events.
    #[error(
        "the store has lost committed events up to position {position}: it was restored from a backup, or a standby that lacked them took over"
    )]
    Diverged {
        /// The position that this node had reached.
        position: Position,
    },
    /// The engine refused to take over: its time settings contradict each other, or the store is an older one.
    #[error("this node cannot lead: {0}")]
    Refused(String),
    /// The engine panicked repeatedly because of a defect.
    #[error(
        "the engine failed {PANICS_MAX} times in a row: a defect of windlass; nothing acknowledged is lost"
    )]
    Defect,
}

/// A node that leads, or stands by to take over.
#[derive(Debug)]
pub struct ControllerNode {
    pub(super) journal: Arc<dyn Journal>,
    pub(super) config: NodeConfig,
    pub(super) inbox: mpsc::Receiver<NodeRequest>,
    pub(super) views: Arc<SharedView>,
    pub(super) meters: Arc<MetricsRegistry>,
    /// Runs whose decisions panicked. The next term ends them.
    pub(super) condemned: BTreeSet<RunId>,
    /// The connection to the leader, while another node of this host leads.
    pub(super) leader: Option<LeaderConnection>,
    panics: u32,
}

impl ControllerNode {
    /// Opens a node on a journal: loads the newest snapshot and applies the events behind it.
    pub async fn open(
        journal: Arc<dyn Journal>,
        config: NodeConfig,
    ) -> Result<(Self, NodeHandle), NodeError> {
        let (sender, inbox) = mpsc::channel(INBOX_MAX);
        let mut watch = StartupMark::begin(&journal, &config.candidate.node).await;
        let views = Arc::new(SharedView::new(begin(&*journal, config.engine).await?));
        let meters = Arc::<MetricsRegistry>::default();
        let handle = NodeHandle {
            inbox: sender,
            views: Arc::clone(&views),
            meters: Arc::clone(&meters),
            self_reports: Arc::default(),
        };
        let condemned = BTreeSet::new();
        let node =
            Self { journal, config, inbox, views, meters, condemned, leader: None, panics: 0 };
        node.catch_up_watched(watch.as_mut()).await?;
        if let Some(watch) = watch {
            watch.done().await;
        }
        Ok((node, handle))
    }

    /// Leads whenever it can, until shutdown. It then gives its term back, with everything durable.
    pub async fn run(self, shutdown: ShutdownReceiver) -> Result<(), NodeError> {
        self.run_and_retire(shutdown.clone(), shutdown).await
    }

    /// Runs like [`run`](Self::run), but can be told to retire before shutdown. From then on the node leaves the lead
    /// to others and only follows. If no other node takes over, it continues to lead.
    pub async fn run_and_retire(
        mut self,
        mut retire: ShutdownReceiver,
        mut shutdown: ShutdownReceiver,
    ) -> Result<(), NodeError> {
        self.stand_by_and_lead(&mut retire).await?;
        let mut left_alone = Instant::now();
        while !shutdown.is_due() {
            if self.follow_leader().await? {
                left_alone = Instant::now();
            }
            if left_alone.elapsed() >= SUCCESSOR_WAIT_MAX {
                return self.stand_by_and_lead(&mut shutdown).await;
            }
            self.serve_standby(&mut shutdown).await?;
        }
        Ok(())
    }

    /// Stands by and leads in turn, until the node retires.
    async fn stand_by_and_lead(&mut self, retire: &mut ShutdownReceiver) -> Result<(), NodeError> {
        while let Some(won) = self.stand_by(retire).await? {
            let ended = match LeaderLoop::begin(self, &won) {
                Ok(lead) => lead.run(retire).await,
                Err(ended) => ended,
            };
            if !matches!(ended, TermEnd::Deposed) {
                self.resign_term(won.leadership.term).await;
            }
            match ended {
                TermEnd::Finished => return Ok(()),
                TermEnd::Failed(error) => return Err(error),
                TermEnd::Deposed => {}
                TermEnd::Panicked { hope } => {
                    self.panics = if hope { 1 } else { self.panics + 1 };
                    if self.panics >= PANICS_MAX {
                        return Err(NodeError::Defect);
                    }
                }
            }
        }
        Ok(())
    }

    /// Gives a term back. Appends under it are refused from then on, or come before the head of the next term. If the
    /// store does not answer, the term ends by itself or with the process.
    async fn resign_term(&self, term: Term) {
        drop(timeout(RESIGN_WITHIN, self.journal.resign(term)).await);
    }

    /// Applies the leader's events until this node wins a term. `None` if it shuts down before.
    async fn stand_by(
        &mut self,
        shutdown: &mut ShutdownReceiver,
    ) -> Result<Option<WonCampaign>, NodeError> {
        while !shutdown.is_due() {
            let mut late = shutdown.clone();
            let won = tokio::select! {
                biased;
                won = self.campaign() => won?,
                // If the campaign was won all the same, its term ends like that of a crashed node.
                () = async { late.wait().await; sleep(HAND_OVER_MAX).await } => None,
            };
            if won.is_some() {
                self.leader = None;
                return Ok(won);
            }
            self.serve_standby(shutdown).await?;
        }
        Ok(None)
    }

    /// Campaigns for a term and applies the rest of the journal. There is no term if the journal does not answer.
    async fn campaign(&self) -> Result<Option<WonCampaign>, NodeError> {
        let (asked_at, came) = self.ask_for_term().await;
        let won = match came {
            Ok(CampaignOutcome::Won(leadership)) => Some(WonCampaign { leadership, asked_at }),
            Ok(CampaignOutcome::LedBy { node, pid, address }) => {
                if self.config.stand_by.refuses(address.is_some()) {
                    return Err(NodeError::Led { node, pid, address });
                }
                self.views.set_led_by(Some(CurrentLeader { node, address }));
                None
            }
            Err(error) if error.is_retryable() => {
                self.views.set_stalled(Some(error));
                None
            }
            Err(error) => return Err(error.into()),
        };
        let caught_up = match self.catch_up().await {
            // An operator may have condemned runs while this node stood by with the runs in its view.
            Ok(()) if won.is_some() => self.read_condemned().await,
            caught_up => caught_up,
        };
        if let (Err(_), Some(won)) = (&caught_up, won) {
            self.resign_term(won.leadership.term).await;
        }
        Ok(self.tolerate_unavailable(caught_up)?.and(won))
    }

    /// Campaigns for a term. The returned time is the one from which the term counts.
    async fn ask_for_term(&self) -> (Time, Result<CampaignOutcome, StoreError>) {
        let (clock, candidate) = (&self.config.clock, self.config.candidate.clone());
        let asked_at = clock.now();
        match self.config.stand_by {
            StandbyPolicy::Wait | StandbyPolicy::WaitForPeers => {
                (asked_at, self.journal.campaign(candidate).await)
            }
            // This campaigns once and may have to watch a term that is not renewed, so the term that it wins counts
            // from a renewal.
            StandbyPolicy::Refuse => match self.journal.campaign_patiently(candidate).await {
                Ok(CampaignOutcome::Won(won)) => {
                    let asked_at = clock.now();
                    let renewed = self.journal.renew(won.term).await;
                    (asked_at, renewed.map(|()| CampaignOutcome::Won(won)))
                }
                other => (asked_at, other),
            },
        }
    }

    /// Reads the runs that an operator has condemned since the start. Condemning takes a term, so the list cannot
    /// change under this one.
    async fn read_condemned(&self) -> Result<(), NodeError> {
        let condemned = self.journal.condemned().await?;
        self.views.condemn(condemned);
        Ok(())
    }

    /// Finds the leader and applies the rest of the journal. Returns whether there is a leader, or may be one.
    async fn follow_leader(&self) -> Result<bool, NodeError> {
        let leader = match self.journal.leader().await {
            Ok(leader) => leader,
            Err(error) if error.is_retryable() => return Ok(true),
            Err(error) => return Err(error.into()),
        };
        let is_led = leader.is_some();
        self.views.set_led_by(leader);
        let caught_up = self.catch_up().await;
        self.tolerate_unavailable(caught_up)?;
        Ok(is_led)
    }

    /// A journal that does not answer for a while does not end the node.
    pub(super) fn tolerate_unavailable(
        &self,
        caught_up: Result<(), NodeError>,
    ) -> Result<Option<()>, NodeError> {
        match caught_up {
            Ok(()) => {
                self.views.set_stalled(None);
                Ok(Some(()))
            }
            Err(NodeError::Store(error)) if error.is_retryable() => {
                self.views.set_stalled(Some(error));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Applies the events that the journal has and the view has not. The last known batch is read again: if another
    /// batch is in its place, or none, the store is not the one that this view comes from.
    pub(super) async fn catch_up(&self) -> Result<(), NodeError> {
        self.catch_up_watched(None).await
    }

    /// Does the same, and records the runs that it applies.
    async fn catch_up_watched(&self, mut watch: Option<&mut StartupMark>) -> Result<(), NodeError> {
        loop {
            let (position, last) = self.views.with(|view| (view.position, view.last));
            let (known, from) = match last {
                Some((_, events)) => (events, Position(position.0 - 1)),
                None => (0, position),
            };
            let asked_at = Instant::now();
            let mut page = match self.journal.tail(from, PAGE + known).await {
                // The leader has pruned events that this node had not read: it starts with the snapshot that replaced
                // them.
                Err(StoreError::Pruned { upto }) => {
                    let start = begin(&*self.journal, self.config.engine).await?;
                    if start.1 < upto {
                        return Err(NodeError::NoSnapshot { upto });
                    }
                    self.views.replace(start);
                    continue;
                }
                page => page?,
            };
            if let Some((batch, _)) = last {
                let first = page.first().map(|first| (first.position(), first.id));
                if first != Some((position, batch)) {
                    return Err(NodeError::Diverged { position });
                }
                let events = page.remove(0).events.len();
                if events != known {
                    // A snapshot does not state the size of its batch, and the page may have had room for nothing else.
                    self.views.note_last(batch, events);
                    continue;
                }
            }
            if page.is_empty() {
                self.views.set_caught_up(asked_at);
                return Ok(());
            }
            for batch in page {
                let known = self.views.with(|view| view.position);
                let published = PublishedEvents::behind(batch, known);
                match &mut watch {
                    Some(watch) => self.publish_named(published, watch).await?,
                    None => self.publish(published)?,
                }
            }
        }
    }

    /// Publishes a batch in parts, and records the run of each part before it is applied.
    async fn publish_named(
        &self,
        published: PublishedEvents,
        watch: &mut StartupMark,
    ) -> Result<(), NodeError> {
        for (named, part) in published.split_by(|event| watch.names(event)) {
            watch.name(named).await;
            self.publish(part)?;
        }
        Ok(())
    }

    pub(super) fn publish(&self, published: PublishedEvents) -> Result<(), NodeError> {
        let position = published.position();
        let applied = self.views.publish(published);
        applied.map_err(|error| NodeError::Nonsense { position, error })
    }
}

/// Returns an engine from the newest snapshot, or an empty one. A damaged snapshot is ignored, because a complete journal
/// gives the same state. A snapshot of a later version is refused.
///
/// The list of condemned runs is read first, so that none of them is built.
async fn begin(
    journal: &dyn Journal,
    config: EngineConfig,
) -> Result<EngineStartState, StoreError> {
    let condemned = journal.condemned().await?;
    let snapshot = journal.snapshot().await?;
    let restored = snapshot.as_ref().map(|it| it.restore(config)).transpose()?.flatten();
    let (engine, position, batch) = match (restored, snapshot) {
        (Some(engine), Some(it)) => (engine, it.position, Some(it.batch)),
        _ => (Engine::new(config), Position(0), None),
    };
    Ok((engine.with_condemned(condemned), position, batch))
}

impl WonCampaign {
    /// Returns the time for which this process has known the newest event, by a clock that no process can set.
    pub(super) fn observed(newest_seen: Instant) -> Span {
        let elapsed = newest_seen.elapsed().as_millis();
        Span::millis(u64::try_from(elapsed).unwrap_or(u64::MAX))
    }

    /// Returns the start of the term in journal time. It is never before the last event plus the time observed since.
    pub(super) fn begins_at(
        leadership: &JournalLeadership,
        engine: &Engine,
        seen_for: Span,
    ) -> Time {
        leadership.now.max(engine.now() + seen_for)
    }

    /// Returns what is proven about the time since the newest event, which this process has known for this long.
    pub(super) fn proven(&self, engine: &Engine, seen_for: Span) -> ProvenTime {
        let JournalLeadership { since_head, since_led, .. } = self.leadership;
        // Only an observation of the term that wrote the newest event counts.
        let ago = since_led.filter(|(term, _)| *term == engine.term()).map(|(_, ago)| ago);
        let led = ago.map_or(Span::ZERO, |ago| seen_for.saturating_sub(ago));
        ProvenTime { passed: seen_for.max(since_head), led }
    }
}
