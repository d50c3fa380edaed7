//! Follows what is durable and has its spans sent.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep;
use windlass_core::engine::{Event, event};
use windlass_core::trace::{TraceParent, TraceSpan, TraceSpanFold};
use windlass_net::http::{ClientCredentials, HttpClient, TcpDialer, dialer};
use windlass_net::shutdown::ShutdownReceiver;
use windlass_store::journal::{Journal, Position};

use super::collector::TraceCollector;
use super::exporter::SpanExporter;
use crate::engine_view::SharedView;
use crate::event_reader::DurableEventReader;
use crate::handle::NodeHandle;
use crate::metrics::MetricsRegistry;

/// Spans that may wait to be sent, a few megabytes: those of some thousand steps. What comes beyond is dropped.
const QUEUE_MAX: usize = 8_192;

/// How long it takes to tell the rest when it is to end.
const REST_WITHIN: Duration = Duration::from_secs(1);

/// Tells a collector of what a node decides while it leads: of several nodes that follow the same runs, each tells of its
/// own terms.
#[derive(Debug)]
pub struct RunTracer {
    views: Arc<SharedView>,
    meters: Arc<MetricsRegistry>,
    reader: DurableEventReader,
    /// What ended up to here was told by others.
    from: Position,
    parent: Option<TraceParent>,
    collector: TraceCollector,
}

impl RunTracer {
    /// Tells a collector what ends from now on. What began before is read from the journal.
    pub fn new(handle: &NodeHandle, journal: Arc<dyn Journal>, collector: TraceCollector) -> Self {
        let views = Arc::clone(handle.views());
        let from = views.look(|view| view.position);
        let reader = DurableEventReader::new(handle, journal, Position(0));
        let meters = Arc::clone(handle.meters());
        Self { views, meters, reader, from, parent: None, collector }
    }

    /// The same, with runs that are submitted from now on as a part of something else.
    #[must_use]
    pub fn with_parent(self, parent: Option<TraceParent>) -> Self {
        Self { parent, ..self }
    }

    /// Tells until it is told to end, and then, for a second at most, what is left to tell. To be told after the node.
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
        let told = async { tokio::join!(self.trace(queue, shutdown), exporter.run()) };
        tokio::select! {
            _ = told => {}
            () = async { ends.wait().await; sleep(REST_WITHIN).await } => {}
        }
    }

    async fn trace(self, queue: mpsc::Sender<TraceSpan>, mut shutdown: ShutdownReceiver) {
        let Self { views, meters, mut reader, from, parent, .. } = self;
        let mut spans = TraceSpanFold::default();
        views.look(|view| {
            view.engine.workers().for_each(|it| spans.set_worker_name(it.id, &it.name));
        });
        let (mut last, mut is_ours) = (None, false);
        while last.is_none_or(|last| reader.position() < last) {
            let fold = |position, at, event: &Event| {
                if let Event::Led(event::Led { term, .. }) = event {
                    is_ours = views.look(|view| view.has_led(*term));
                }
                let is_new = position > from && is_ours;
                spans.set_parent(parent.filter(|_| is_new));
                let ended = spans.fold(at, event).into_iter().filter(|_| is_new);
                let dropped = ended.filter_map(|span| queue.try_send(span).err()).count();
                meters.spans_dropped.fetch_add(dropped as u64, Ordering::Relaxed);
            };
            tokio::select! {
                () = shutdown.wait(), if last.is_none() => {
                    last = Some(views.look(|view| view.position));
                }
                () = reader.next(fold) => {}
            }
        }
    }
}
