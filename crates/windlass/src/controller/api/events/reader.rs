//! What comes behind a position: from memory where that has it, else from where it is kept.

use std::sync::Arc;

use hyper::body::Bytes;
use serde_json::json;
use windlass_core::id::RunId;

use super::filter::Filter;
use crate::controller::api::refused::Refused;
use crate::controller::api::router::Api;
use crate::controller::api::runs::lookup;
use crate::controller::{Ahead, Frame, Frames};
use crate::journal::{Position, Recorded};

/// Events that somebody who lags is given at once: about as many bytes as a connection takes.
const PAGE: usize = 256;

/// Reads what comes behind a position, for one client.
#[derive(Debug)]
pub(in crate::controller::api) struct Reader {
    api: Arc<Api>,
    subject: Subject,
    position: Position,
}

/// What it is about.
#[derive(Debug)]
enum Subject {
    All(Filter),
    Run(RunId, Phase),
}

/// How far the telling of a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Something of it may be kept that was not told yet.
    Past,
    /// What is next happens next.
    Live,
    /// Its end was told.
    Over,
}

/// What there is.
#[derive(Debug)]
pub(super) enum Read {
    /// The text of events.
    Text(Bytes),
    /// Nothing that is wanted, up to here.
    Passed,
    /// Nothing yet.
    Nothing,
    /// The last words: nothing will come.
    End(Bytes),
}

impl Reader {
    /// Everything behind a position.
    pub(super) const fn of_all(api: Arc<Api>, filter: Filter, position: Position) -> Self {
        Self { api, subject: Subject::All(filter), position }
    }

    /// What happened to a run behind a position.
    pub(in crate::controller::api) const fn of_run(
        api: Arc<Api>,
        run: RunId,
        super::Start(position): super::Start,
    ) -> Self {
        Self { api, subject: Subject::Run(run, Phase::Past), position }
    }

    pub(super) const fn api(&self) -> &Arc<Api> {
        &self.api
    }

    /// Up to where everything was read, if who is told only a part of it cannot know that from what it was told.
    pub(super) fn passed(&self) -> Option<Position> {
        match &self.subject {
            Subject::All(_) => Some(self.position),
            Subject::Run(..) => None,
        }
    }

    /// What there is now. It waits for the stores, and never for something to happen.
    pub(super) async fn read(&mut self) -> Result<Read, Refused> {
        match self.subject {
            Subject::All(_) => self.read_all().await,
            Subject::Run(run, Phase::Past) => self.read_past(run).await,
            Subject::Run(run, Phase::Live) => self.read_live(run).await,
            Subject::Run(run, Phase::Over) => self.last_words(run).await,
        }
    }

    fn ahead(&self) -> Ahead {
        self.api.handle.views().look(|view| view.next_behind(self.position))
    }

    async fn read_all(&mut self) -> Result<Read, Refused> {
        let (frames, upto) = match self.ahead() {
            Ahead::Nothing => return Ok(Read::Nothing),
            Ahead::Batch(batch) => (Arc::clone(batch.frames()), batch.position),
            Ahead::Gone => {
                let page = self.page_of_all().await?;
                let Some(upto) = page.last().map(|(position, _)| *position) else {
                    return Ok(Read::Nothing);
                };
                (Arc::new(frames(&page)), upto)
            }
        };
        let Subject::All(filter) = &mut self.subject else { return Ok(Read::Nothing) };
        if !filter.is_open() {
            filter.learn(&self.api, frames.iter()).await?;
        }
        let told = self.position;
        let text = pick(&frames, |frame| frame.position > told && filter.lets(frame));
        self.position = upto;
        Ok(text.map_or(Read::Passed, Read::Text))
    }

    /// Whole batches of the journal, of which a client is told at least one.
    async fn page_of_all(&self) -> Result<Vec<(Position, Recorded)>, Refused> {
        let _turn = self.api.streams.turn().await;
        let batches = self.api.kept.journal.tail(self.position, PAGE).await?;
        let numbered = batches.into_iter().flat_map(|batch| {
            (batch.after().0 + 1..).map(Position).zip(batch.events).collect::<Vec<_>>()
        });
        Ok(numbered.filter(|(position, _)| *position > self.position).collect())
    }

    async fn read_past(&mut self, run: RunId) -> Result<Read, Refused> {
        let _turn = self.api.streams.turn().await;
        // Asked before the page is read: what came up to then is in it.
        let upto = *self.api.kept.histories.moved().borrow();
        let record = self.api.kept.histories.record(run);
        let is_over = record.is_none_or(|record| record.status.is_terminal());
        let page = lookup::behind(&self.api, run, self.position, PAGE).await?;
        if let Some((last, _)) = page.last() {
            self.position = *last;
            let text = pick(&Arc::new(frames(&page)), |_| true);
            return Ok(text.map_or(Read::Passed, Read::Text));
        }
        let phase = if is_over { Phase::Over } else { Phase::Live };
        (self.subject, self.position) = (Subject::Run(run, phase), self.position.max(upto));
        Ok(Read::Passed)
    }

    /// A run that goes on: what is about it, and what interrupts it.
    async fn read_live(&mut self, run: RunId) -> Result<Read, Refused> {
        let batch = match self.ahead() {
            Ahead::Nothing => return Ok(Read::Nothing),
            Ahead::Batch(batch) => batch,
            Ahead::Gone => {
                // Histories may be as far behind: to look there before they have come up would be to look again.
                lookup::caught_up(&self.api).await?;
                self.subject = Subject::Run(run, Phase::Past);
                return Ok(Read::Passed);
            }
        };
        let (frames, told) = (batch.frames(), self.position);
        let is_news = |frame: &Frame| frame.position > told;
        let concerns = |frame: &Frame| frame.run == Some(run) || frame.kind == "led";
        let text = pick(frames, |frame| is_news(frame) && concerns(frame));
        self.position = batch.position;
        let ends = |frame: &Frame| frame.run == Some(run) && frame.kind == "run_ended";
        if frames.iter().any(|frame| is_news(frame) && ends(frame)) {
            self.subject = Subject::Run(run, Phase::Over);
        }
        Ok(text.map_or(Read::Passed, Read::Text))
    }

    /// Without an id: who comes back all the same is told so again.
    async fn last_words(&self, run: RunId) -> Result<Read, Refused> {
        // What is told live may be ahead of what is kept.
        lookup::caught_up(&self.api).await?;
        let status = lookup::record(&self.api, run).await?.status;
        let data = json!({ "run": run.to_string(), "status": status.to_string() });
        Ok(Read::End(format!("event: end\ndata: {data}\n\n").into()))
    }
}

fn frames(page: &[(Position, Recorded)]) -> Frames {
    Frames::of(page.iter().map(|(position, it)| (*position, it.at, &it.event)))
}

/// The text of the frames that are wanted: where it is in one piece, that piece and no copy of it.
fn pick(frames: &Arc<Frames>, wanted: impl Fn(&Frame) -> bool) -> Option<Bytes> {
    let ranges = frames.ranges(wanted);
    match ranges.as_slice() {
        [] => None,
        [range] => Some(Bytes::from_owner(Shared(Arc::clone(frames))).slice(range.clone())),
        several => {
            let pieces = several.iter().map(|range| &frames.text()[range.clone()]);
            Some(pieces.collect::<String>().into())
        }
    }
}

/// Text that many are told.
struct Shared(Arc<Frames>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        self.0.text().as_bytes()
    }
}
