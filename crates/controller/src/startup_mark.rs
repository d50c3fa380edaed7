//! Records the run that a start is applying, so that a crash in the middle leaves a trace.

use std::sync::Arc;

use windlass_core::engine::{Event, event};
use windlass_core::id::RunId;
use windlass_store::journal::{Journal, StartMark};

/// The size of a plan from which a start always records its run first. A mark costs a small write, in PostgreSQL a
/// round trip, which would be too much for each of ten thousand small runs.
const COSTLY_BYTES: usize = 64 << 10;

/// The mark of a start that applies the journal.
///
/// Failures to write the mark are ignored: a node can start without it.
#[derive(Debug)]
pub(super) struct StartupMark {
    journal: Arc<dyn Journal>,
    node: String,
    /// Whether an earlier start of this node did not finish. Every run is recorded then.
    careful: bool,
    named: Option<RunId>,
}

impl StartupMark {
    /// Marks that a node starts. A node without a name only reads the marks.
    pub(super) async fn begin(journal: &Arc<dyn Journal>, node: &str) -> Option<Self> {
        if node.is_empty() {
            return None;
        }
        let left = journal.start_marks().await.unwrap_or_default();
        let careful = left.iter().any(|mark| mark.node == node);
        let mut watch =
            Self { journal: Arc::clone(journal), node: node.to_owned(), careful, named: None };
        watch.mark(None).await;
        Some(watch)
    }

    /// Returns the run that has to be recorded before this event is applied.
    pub(super) fn names(&self, event: &Event) -> Option<RunId> {
        let costly = |event: &Event| matches!(event, Event::RunSubmitted(event::RunSubmitted { plan, .. }) | Event::RunResumed(event::RunResumed { plan, .. }) if plan.bytes() >= COSTLY_BYTES);
        event.run().filter(|_| self.careful || costly(event))
    }

    /// Records the run that is applied next, or that there is none.
    pub(super) async fn name(&mut self, run: Option<RunId>) {
        if self.named != run {
            self.mark(run).await;
        }
    }

    async fn mark(&mut self, applying: Option<RunId>) {
        self.named = applying;
        let mark = StartMark { node: self.node.clone(), applying };
        drop(self.journal.mark_start(mark).await);
    }

    /// Removes the mark: everything is applied.
    pub(super) async fn done(self) {
        drop(self.journal.clear_start(self.node).await);
    }
}
