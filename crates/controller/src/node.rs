//! A node's life: stand by, lead, begin again.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use windlass_core::engine::{ApplyError, Engine, EngineConfig, ProvenTime};
use windlass_core::id::{RunId, Term, WorkerId};
use windlass_core::time::{Span, Time};
use windlass_net::clock::ProcessClock;
use windlass_net::shutdown::ShutdownReceiver;
use windlass_store::db::StoreError;
use windlass_store::journal::{
    CampaignOutcome, CurrentLeader, Journal, JournalLeadership, LeaderCandidate, Position,
    StoredBatch,
};

use super::engine_view::{EngineStartState, PublishedEvents, SharedView};
use super::handle::{NodeHandle, NodeRequest};
use super::leader_loop::{HAND_OVER_MAX, LeaderLoop, TermEnd, WonCampaign};
use super::metrics::MetricsRegistry;
use super::startup_mark::StartupMark;

/// Questions that may wait for the leader. Whoever comes when it is full waits at the door: a leader that is slower than
/// its callers slows them down instead of growing.
const INBOX_MAX: usize = 1_024;

/// How long a node that stands by waits between two looks at the journal.
const POLL_EVERY: Duration = Duration::from_millis(250);

/// Events that are read from the journal at once.
const PAGE: usize = 16_384;

/// How long a node that stops leading waits for the journal to take its term back.
const RESIGN_WITHIN: Duration = Duration::from_secs(2);

/// How long a node that has retired waits for somebody to take over: others look several times a second.
const SUCCESSOR_WAIT_MAX: Duration = Duration::from_secs(2);

/// A leader that panics this often in a row, with no hope that the next term fares better, ends its node.
const PANICS_MAX: u32 = 3;

/// What a node is told.
#[derive(Clone, Debug)]
pub struct NodeConfig {
    /// Who it is, for those who ask who leads.
    pub candidate: LeaderCandidate,
    /// The engine's bounds and paces.
    pub engine: EngineConfig,
    /// How long leases last.
    pub ttl: Span,
    /// The worker that runs on this node, if one does.
    pub own: Option<WorkerId>,
    /// What to do while somebody else leads.
    pub stand_by: StandbyPolicy,
    /// By what it counts how long it may believe in its term: where terms end by time, a clock that counts suspension.
    pub clock: ProcessClock,
}

/// What a node does while somebody else leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandbyPolicy {
    /// Waits for its turn.
    Wait,
    /// Ends with [`NodeError::Led`].
    Refuse,
}

/// Why a node ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NodeError {
    /// Its store failed in a way that waiting does not mend.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Somebody else leads.
    #[error("{} leads already{}", node, pid.map(|pid| format!(" (process {pid})")).unwrap_or_default())]
    Led {
        /// Who.
        node: String,
        /// Its process, if it is on this machine.
        pid: Option<u32>,
        /// Where clients reach it.
        address: Option<String>,
    },
    /// The journal holds what this engine cannot fold.
    #[error("the journal does not make sense at position {position}: {error}; nothing was changed")]
    Nonsense {
        /// Where.
        position: Position,
        /// Why.
        error: ApplyError,
    },
    /// What has left the journal is in no snapshot that can be read.
    #[error(
        "events up to position {upto} are in a snapshot that this windlass cannot read: use the version that wrote it"
    )]
    NoSnapshot {
        /// The last that has left.
        upto: Position,
    },
    /// The store is another one than this node has followed: it does not have what was committed.
    #[error(
        "the store has lost what was committed up to position {position}: it was restored from a backup, or a standby of it took over that lacked it"
    )]
    Diverged {
        /// How far this node had come.
        position: Position,
    },
    /// The engine would not take over: its times contradict each other, or the store is an older one.
    #[error("this node cannot lead: {0}")]
    Refused(String),
    /// The engine failed again and again by a mistake of its own.
    #[error(
        "the engine failed {PANICS_MAX} times in a row: a defect of windlass; nothing acknowledged is lost"
    )]
    Defect,
}

/// A node that leads, or stands by to.
#[derive(Debug)]
pub struct ControllerNode {
    pub(super) journal: Arc<dyn Journal>,
    pub(super) config: NodeConfig,
    pub(super) inbox: mpsc::Receiver<NodeRequest>,
    pub(super) views: Arc<SharedView>,
    pub(super) meters: Arc<MetricsRegistry>,
    /// Runs on which deciding failed, to be ended by the next term.
    pub(super) condemned: BTreeSet<RunId>,
    panics: u32,
}

impl ControllerNode {
    /// Opens a node on a journal: loads the newest snapshot and folds what came behind it.
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
        let node = Self { journal, config, inbox, views, meters, condemned, panics: 0 };
        node.catch_up_watched(watch.as_mut()).await?;
        if let Some(watch) = watch {
            watch.done().await;
        }
        Ok((node, handle))
    }

    /// Leads whenever it can, until it is told to end. It gives its term back then, with everything durable.
    pub async fn run(self, shutdown: ShutdownReceiver) -> Result<(), NodeError> {
        self.run_and_retire(shutdown.clone(), shutdown).await
    }

    /// The same for a node that is told first to retire: from then on it leaves the lead to others and only follows what
    /// they write, until it is told to end. If nobody takes over it leads on: somebody has to.
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
            self.refuse_requests(&mut shutdown).await;
        }
        Ok(())
    }

    /// Stands by and leads in turn, until it is told to retire.
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

    /// Gives a term back: what is in flight under it is refused from here on, or it is before the next head. A store that
    /// does not take it back ends it by itself, or with the process.
    async fn resign_term(&self, term: Term) {
        drop(timeout(RESIGN_WITHIN, self.journal.resign(term)).await);
    }

    /// Folds what the leader writes until it wins a term itself. `None` if it is told to end before.
    async fn stand_by(
        &mut self,
        shutdown: &mut ShutdownReceiver,
    ) -> Result<Option<WonCampaign>, NodeError> {
        while !shutdown.is_due() {
            let mut late = shutdown.clone();
            let won = tokio::select! {
                biased;
                won = self.campaign() => won?,
                // A term that it may have won all the same ends like that of a node that crashed.
                () = async { late.wait().await; sleep(HAND_OVER_MAX).await } => None,
            };
            if won.is_some() {
                return Ok(won);
            }
            self.refuse_requests(shutdown).await;
        }
        Ok(None)
    }

    /// Asks for a term, and folds what the journal has. If the journal does not answer there is no term for now.
    async fn campaign(&self) -> Result<Option<WonCampaign>, NodeError> {
        let (asked_at, came) = self.ask_for_term().await;
        let won = match came {
            Ok(CampaignOutcome::Won(leadership)) => Some(WonCampaign { leadership, asked_at }),
            Ok(CampaignOutcome::LedBy { node, pid, address }) => match self.config.stand_by {
                StandbyPolicy::Wait => {
                    self.views.set_led_by(Some(CurrentLeader { node, address }));
                    None
                }
                StandbyPolicy::Refuse => return Err(NodeError::Led { node, pid, address }),
            },
            Err(error) if error.is_retryable() => {
                self.views.set_stalled(Some(error));
                None
            }
            Err(error) => return Err(error.into()),
        };
        let caught_up = match self.catch_up().await {
            // Condemned while this node stood by, with the run in its view.
            Ok(()) if won.is_some() => self.read_condemned().await,
            caught_up => caught_up,
        };
        if let (Err(_), Some(won)) = (&caught_up, won) {
            self.resign_term(won.leadership.term).await;
        }
        Ok(self.tolerate_unavailable(caught_up)?.and(won))
    }

    /// Asks for a term. The time is that from which the term may be counted.
    async fn ask_for_term(&self) -> (Time, Result<CampaignOutcome, StoreError>) {
        let (clock, candidate) = (&self.config.clock, self.config.candidate.clone());
        let asked_at = clock.now();
        match self.config.stand_by {
            StandbyPolicy::Wait => (asked_at, self.journal.campaign(candidate).await),
            // It asks once, and may have to watch a term that is not renewed. So the term that it wins counts from a renewal.
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

    /// Condemns what an operator has condemned since this node started. That takes a term, so nothing changes under this one.
    async fn read_condemned(&self) -> Result<(), NodeError> {
        let condemned = self.journal.condemned().await?;
        self.views.condemn(condemned);
        Ok(())
    }

    /// Looks who leads, and folds what the journal has. Whether somebody does, or may as far as can be told.
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

    /// A journal that does not answer for a while is no reason to end: nothing came of it.
    fn tolerate_unavailable(
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

    /// Tells everybody who asks meanwhile that it does not lead.
    async fn refuse_requests(&mut self, shutdown: &mut ShutdownReceiver) {
        let until = Instant::now() + POLL_EVERY;
        loop {
            tokio::select! {
                () = shutdown.wait() => return,
                // To drop a question is to answer that nobody leads here.
                asked = timeout_at(until, self.inbox.recv()) => match asked {
                    Ok(Some(_)) => {}
                    // Nobody can ask any more; standing by goes on.
                    Ok(None) => return sleep(until - Instant::now()).await,
                    Err(_) => return,
                }
            }
        }
    }

    /// Folds what the journal has that the view has not. The last batch that it knows is read again: if another one is in its
    /// place, or none, then the store is not the one that this view was folded from.
    pub(super) async fn catch_up(&self) -> Result<(), NodeError> {
        self.catch_up_watched(None).await
    }

    /// The same, and names the runs that it applies.
    async fn catch_up_watched(&self, mut watch: Option<&mut StartupMark>) -> Result<(), NodeError> {
        loop {
            let (position, last) = self.views.look(|view| (view.position, view.last));
            let (known, from) = match last {
                Some((_, events)) => (events, Position(position.0 - 1)),
                None => (0, position),
            };
            let asked = Instant::now();
            let mut page = match self.journal.tail(from, PAGE + known).await {
                // Whoever leads has pruned what this node had not read: it begins with the snapshot that took its place.
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
                let first = page.first().map(|first| (first.position, first.batch));
                if first != Some((position, batch)) {
                    return Err(NodeError::Diverged { position });
                }
                let events = page.remove(0).events.len();
                if events != known {
                    // A snapshot does not tell how large it is, and the page may have had room for nothing else.
                    self.views.note_last(batch, events);
                    continue;
                }
            }
            if page.is_empty() {
                self.views.set_caught_up(asked);
                return Ok(());
            }
            for batch in page {
                let published = behind(batch, self.views.look(|view| view.position));
                match &mut watch {
                    Some(watch) => self.publish_named(published, watch).await?,
                    None => self.publish(published)?,
                }
            }
        }
    }

    /// Publishes a batch in parts, and names the run of each part before it is applied.
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

    fn publish(&self, published: PublishedEvents) -> Result<(), NodeError> {
        let position = published.position;
        let applied = self.views.publish(published);
        applied.map_err(|error| NodeError::Nonsense { position, error })
    }
}

/// An engine from the newest snapshot, or from nothing. A damaged snapshot is ignored, because a complete journal gives the
/// same state; a snapshot of a later version is refused.
///
/// The list of condemned runs is read first: none of them is built.
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

/// What of a batch lies behind a position.
fn behind(batch: StoredBatch, position: Position) -> PublishedEvents {
    let all = batch.events.len();
    let known = position.0.saturating_sub(batch.after().0);
    let known = usize::try_from(known).unwrap_or(usize::MAX);
    let events = batch.events.into_iter().skip(known);
    let events = events.map(|recorded| (recorded.at, recorded.event)).collect();
    PublishedEvents::new(batch.position, events).of_batch(batch.batch, all)
}

impl WonCampaign {
    /// How long this process has known the newest event, by a clock that no process can set.
    pub(super) fn observed(newest_seen: Instant) -> Span {
        let elapsed = newest_seen.elapsed().as_millis();
        Span::millis(u64::try_from(elapsed).unwrap_or(u64::MAX))
    }

    /// When the term begins, in journal time: never before the last event and the time that was observed since.
    pub(super) fn begins_at(
        leadership: &JournalLeadership,
        engine: &Engine,
        seen_for: Span,
    ) -> Time {
        leadership.now.max(engine.now() + seen_for)
    }

    /// What is proven of the time since the newest event, which this process has known for so long.
    pub(super) fn proven(&self, engine: &Engine, seen_for: Span) -> ProvenTime {
        let JournalLeadership { since_head, since_led, .. } = self.leadership;
        // Of the term that wrote the newest event.
        let ago = since_led.filter(|(term, _)| *term == engine.term()).map(|(_, ago)| ago);
        let led = ago.map_or(Span::ZERO, |ago| seen_for.saturating_sub(ago));
        ProvenTime { passed: seen_for.max(since_head), led }
    }
}
