//! The events of a run, page by page, across outages of its controller.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use windlass_core::id::RunId;
use windlass_store::journal::Position;

use crate::cli::error::CliError;
use crate::cli::run_source::{RunEventsPage, RunSource, retry_while_away};

/// How long one request waits for an event.
const WAIT: Duration = Duration::from_secs(30);

/// Pages that wait to be shown.
const QUEUED_PAGES_MAX: usize = 4;

/// News about a run.
#[derive(Debug)]
pub(super) enum RemoteFeedEvent {
    /// The next events.
    Page(RunEventsPage),
    /// The source is unreachable.
    Unreachable,
    /// The source is reachable again.
    ReachableAgain,
    /// The source has failed for good.
    Failed(CliError),
}

/// Follows a run from a position until the receiver is dropped.
pub(super) fn feed(
    source: Arc<dyn RunSource>,
    run: RunId,
    from: Position,
) -> mpsc::Receiver<RemoteFeedEvent> {
    let (sender, receiver) = mpsc::channel(QUEUED_PAGES_MAX);
    tokio::spawn(async move {
        let mut from = from;
        loop {
            let mut away = false;
            let tell = || {
                // A slow receiver gets the next page soon enough.
                away = sender.try_send(RemoteFeedEvent::Unreachable).is_ok();
            };
            let page =
                retry_while_away(source.patience(), || source.next_events(run, from, WAIT), tell)
                    .await;
            let (batch, over) = match page {
                Ok(page) => {
                    from = page.upto;
                    (RemoteFeedEvent::Page(page), false)
                }
                Err(error) => (RemoteFeedEvent::Failed(error), true),
            };
            let back = away && !over;
            if back && sender.send(RemoteFeedEvent::ReachableAgain).await.is_err() {
                return;
            }
            if sender.send(batch).await.is_err() || over {
                return;
            }
        }
    });
    receiver
}
