//! What happens to a run, page by page, though its controller may be away for a while.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use windlass_core::id::RunId;

use crate::cli::error::CliError;
use crate::cli::reading::{Page, Source, persist};
use crate::journal::Position;

/// How long one waits for something to happen before asking again.
const WAIT: Duration = Duration::from_secs(30);

/// Pages that wait to be shown.
const WAITING_MAX: usize = 4;

/// What is told about a run.
#[derive(Debug)]
pub(super) enum Told {
    /// What happened next.
    Page(Page),
    /// It cannot be asked at the moment.
    Away,
    /// It can be asked again.
    Back,
    /// It cannot be asked any more.
    Failed(CliError),
}

/// Follows a run behind a position until nobody listens any more.
pub(super) fn feed(source: Arc<dyn Source>, run: RunId, from: Position) -> mpsc::Receiver<Told> {
    let (sender, receiver) = mpsc::channel(WAITING_MAX);
    tokio::spawn(async move {
        let mut from = from;
        loop {
            let mut away = false;
            let tell = || {
                // Whoever is behind hears of the page that comes after it soon enough.
                away = sender.try_send(Told::Away).is_ok();
            };
            let page = persist(source.patience(), || source.more(run, from, WAIT), tell).await;
            let (told, over) = match page {
                Ok(page) => {
                    from = page.upto;
                    (Told::Page(page), false)
                }
                Err(error) => (Told::Failed(error), true),
            };
            let back = away && !over;
            if back && sender.send(Told::Back).await.is_err() {
                return;
            }
            if sender.send(told).await.is_err() || over {
                return;
            }
        }
    });
    receiver
}
