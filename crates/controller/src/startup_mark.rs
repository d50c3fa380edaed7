//! Names the run that a start is applying, so that an end in the middle of it leaves a trace.

use std::sync::Arc;

use windlass_core::engine::{Event, event};
use windlass_core::id::RunId;
use windlass_store::journal::{Journal, StartMark};

/// Bytes of a plan from which a start names its run before it builds it. A mark costs a small write, and in PostgreSQL a round
/// trip, so it is not worth it for each of ten thousand small runs.
const COSTLY_BYTES: usize = 64 << 10;

/// A start that folds the journal, with its mark in the store.
///
/// A mark that cannot be written is no reason not to start, so failures are ignored.
#[derive(Debug)]
pub(super) struct StartupMark {
    journal: Arc<dyn Journal>,
    node: String,
    /// Whether an earlier start of this node ended before it was done: every run is named then.
    careful: bool,
    named: Option<RunId>,
}

impl StartupMark {
    /// Marks that a node starts. A node without a name only looks, and leaves no mark.
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

    /// The run that has to be named before this event is applied.
    pub(super) fn names(&self, event: &Event) -> Option<RunId> {
        let costly = |event: &Event| matches!(event, Event::RunSubmitted(event::RunSubmitted { plan, .. }) if plan.bytes() >= COSTLY_BYTES);
        event.run().filter(|_| self.careful || costly(event))
    }

    /// Names the run that is applied next, or none.
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

    /// Everything is folded.
    pub(super) async fn done(self) {
        drop(self.journal.clear_start(self.node).await);
    }
}
