//! What happens to a run, page by page, though its controller may be away for a while.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use windlass_core::id::RunId;

use crate::cli::error::CliError;
use crate::cli::run_source::{RunEventsPage, RunSource, retry_while_away};
use crate::journal::Position;

/// How long one waits for something to happen before asking again.
const WAIT: Duration = Duration::from_secs(30);

/// Pages that wait to be shown.
const QUEUED_PAGES_MAX: usize = 4;

/// What is told about a run.
#[derive(Debug)]
pub(super) enum RemoteFeedEvent {
    /// What happened next.
    Page(RunEventsPage),
    /// It cannot be asked at the moment.
    Unreachable,
    /// It can be asked again.
    ReachableAgain,
    /// It cannot be asked any more.
    Failed(CliError),
}

/// Follows a run behind a position until nobody listens any more.
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
                // Whoever is behind hears of the page that comes after it soon enough.
                away = sender.try_send(RemoteFeedEvent::Unreachable).is_ok();
            };
            let page =
                retry_while_away(source.patience(), || source.next_events(run, from, WAIT), tell)
                    .await;
            let (told, over) = match page {
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
            if sender.send(told).await.is_err() || over {
                return;
            }
        }
    });
    receiver
}
