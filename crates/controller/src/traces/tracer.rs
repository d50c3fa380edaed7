//! Follows durable events and sends their spans.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep;
use windlass_core::engine::{Event, event};
use windlass_core::id::RunId;
use windlass_core::trace::{TraceParent, TraceSpan, TraceSpanFold};
use windlass_net::http::{ClientCredentials, HttpClient, TcpDialer, dialer};
use windlass_net::shutdown::ShutdownReceiver;
use windlass_store::journal::{Journal, Position, RecordedEvent};

use super::collector::TraceCollector;
use super::exporter::SpanExporter;
use crate::engine_view::SharedView;
use crate::event_follower::EventFollower;
use crate::handle::NodeHandle;
use crate::metrics::MetricsRegistry;

/// Spans that may wait to be sent, a few megabytes: those of some thousand steps. Further spans are dropped.
const QUEUE_MAX: usize = 8_192;

/// The time for which the rest is sent at shutdown.
const REST_WITHIN: Duration = Duration::from_secs(1);

/// Sends spans of what a node decides while it leads. Of several nodes that follow the same runs, each sends those of
/// its own terms.
#[derive(Debug)]
pub struct RunTracer {
    views: Arc<SharedView>,
    meters: Arc<MetricsRegistry>,
    follower: EventFollower,
    /// Spans that ended up to here were sent before.
    from: Position,
    parent: Option<TraceParent>,
    /// The only run that is traced, whichever node leads.
    run: Option<RunId>,
    collector: TraceCollector,
}

impl RunTracer {
    /// Returns a tracer of spans that end from now on. Their beginnings are read from the journal.
    pub fn new(handle: &NodeHandle, journal: &Arc<dyn Journal>, collector: TraceCollector) -> Self {
        let views = Arc::clone(handle.views());
        let from = views.with(|view| view.position);
        let follower = views.follow(journal, Position(0));
        let meters = Arc::clone(handle.meters());
        Self { views, meters, follower, from, parent: None, run: None, collector }
    }

    /// Makes runs that are submitted from now on a part of this trace.
    #[must_use]
    pub fn with_parent(self, parent: Option<TraceParent>) -> Self {
        Self { parent, ..self }
    }

    /// Sends only the spans of one run that end behind a position, also if another node leads.
    #[must_use]
    pub fn of_run(self, run: RunId, from: Position) -> Self {
        Self { run: Some(run), from, ..self }
    }

    /// Sends until shutdown, and then the rest for at most a second. Shut it down after the node.
    pub async fn run(self, shutdown: ShutdownReceiver) {
        let mut ends = shutdown.clone();
        let (queue, spans) = mpsc::channel(QUEUE_MAX);
        let exporter = SpanExporter {
            collector: self.collector.clone(),
            client: HttpClient::new(
                dialer(None).unwrap_or_else(|_| Arc::new(TcpDialer)),
                ClientCredentials::default(),
            ),
            spans,
            meters: Arc::clone(&self.meters),
            shutdown: shutdown.clone(),
        };
        let sent = async { tokio::join!(self.trace(queue, shutdown), exporter.run()) };
        tokio::select! {
            _ = sent => {}
            () = async { ends.wait().await; sleep(REST_WITHIN).await } => {}
        }
    }

    async fn trace(self, queue: mpsc::Sender<TraceSpan>, mut shutdown: ShutdownReceiver) {
        let Self { views, meters, mut follower, from, parent, run, .. } = self;
        let mut spans = TraceSpanFold::default();
        views.with(|view| {
            view.engine.workers().for_each(|it| spans.set_worker_name(it.id, &it.name));
        });
        let (mut last, mut is_ours) = (None, false);
        while last.is_none_or(|last| follower.position() < last) {
            let mut fold = |recorded: &RecordedEvent| {
                if let Event::Led(event::Led { term, .. }) = &recorded.event {
                    is_ours = views.with(|view| view.has_led(*term));
                }
                let is_wanted = run.map_or(is_ours, |run| recorded.event.run() == Some(run));
                let is_new = recorded.position > from && is_wanted;
                spans.set_parent(parent.filter(|_| is_new));
                let ended = spans.fold(recorded.at, &recorded.event).into_iter().filter(|_| is_new);
                let dropped = ended.filter_map(|span| queue.try_send(span).err()).count();
                meters.spans_dropped.fetch_add(dropped as u64, Ordering::Relaxed);
            };
            tokio::select! {
                () = shutdown.wait(), if last.is_none() => {
                    last = Some(views.with(|view| view.position));
                }
                followed = follower.next_retrying() => {
                    followed.iter().for_each(|recorded| fold(recorded));
                }
            }
        }
    }
}
