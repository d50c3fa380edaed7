//! What comes behind a position: from memory where that has it, else from where it is kept.

use std::sync::Arc;

use hyper::body::Bytes;
use serde_json::json;
use windlass_core::id::RunId;
use windlass_store::journal::{Position, RecordedEvent};

use super::filter::ApiEventFilter;
use crate::api::api_error::ApiError;
use crate::api::router::Api;
use crate::api::runs::lookup;
use crate::{EventsAhead, SseFrame, SseFrames};

/// Events that somebody who lags is given at once: about as many bytes as a connection takes.
const PAGE: usize = 256;

/// Reads what comes behind a position, for one client.
#[derive(Debug)]
pub(in crate::api) struct SseReader {
    api: Arc<Api>,
    subject: StreamSubject,
    position: Position,
}

/// What it is about.
#[derive(Debug)]
enum StreamSubject {
    All(ApiEventFilter),
    Run(RunId, RunStreamPhase),
}

/// How far the telling of a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RunStreamPhase {
    /// Something of it may be kept that was not told yet.
    Past,
    /// What is next happens next.
    Live,
    /// Its end was told.
    Over,
}

/// What there is.
#[derive(Debug)]
pub(super) enum StreamRead {
    /// The text of events.
    Text(Bytes),
    /// Nothing that is wanted, up to here.
    Passed,
    /// Nothing yet.
    Nothing,
    /// The last words: nothing will come.
    End(Bytes),
}

impl SseReader {
    /// Everything behind a position.
    pub(super) const fn of_all(api: Arc<Api>, filter: ApiEventFilter, position: Position) -> Self {
        Self { api, subject: StreamSubject::All(filter), position }
    }

    /// What happened to a run behind a position.
    pub(in crate::api) const fn of_run(
        api: Arc<Api>,
        run: RunId,
        super::StreamStart(position): super::StreamStart,
    ) -> Self {
        Self { api, subject: StreamSubject::Run(run, RunStreamPhase::Past), position }
    }

    pub(super) const fn api(&self) -> &Arc<Api> {
        &self.api
    }

    /// Up to where everything was read, if who is told only a part of it cannot know that from what it was told.
    pub(super) fn passed(&self) -> Option<Position> {
        match &self.subject {
            StreamSubject::All(_) => Some(self.position),
            StreamSubject::Run(..) => None,
        }
    }

    /// What there is now. It waits for the stores, and never for something to happen.
    pub(super) async fn read(&mut self) -> Result<StreamRead, ApiError> {
        match self.subject {
            StreamSubject::All(_) => self.read_all().await,
            StreamSubject::Run(run, RunStreamPhase::Past) => self.read_past(run).await,
            StreamSubject::Run(run, RunStreamPhase::Live) => self.read_live(run).await,
            StreamSubject::Run(run, RunStreamPhase::Over) => self.end_frame(run).await,
        }
    }

    fn ahead(&self) -> EventsAhead {
        self.api.handle.views().look(|view| view.next_behind(self.position))
    }

    async fn read_all(&mut self) -> Result<StreamRead, ApiError> {
        let (frames, upto) = match self.ahead() {
            EventsAhead::Nothing => return Ok(StreamRead::Nothing),
            EventsAhead::Batch(batch) => (Arc::clone(batch.frames()), batch.position),
            EventsAhead::Gone => {
                let page = self.page_of_all().await?;
                let Some(upto) = page.last().map(|(position, _)| *position) else {
                    return Ok(StreamRead::Nothing);
                };
                (Arc::new(frames(&page)), upto)
            }
        };
        let StreamSubject::All(filter) = &mut self.subject else { return Ok(StreamRead::Nothing) };
        if !filter.is_open() {
            filter.learn(&self.api, frames.iter()).await?;
        }
        let told = self.position;
        let text = pick(&frames, |frame| frame.position > told && filter.lets(frame));
        self.position = upto;
        Ok(text.map_or(StreamRead::Passed, StreamRead::Text))
    }

    /// Whole batches of the journal, of which a client is told at least one.
    async fn page_of_all(&self) -> Result<Vec<(Position, RecordedEvent)>, ApiError> {
        let _turn = self.api.streams.catch_up_permit().await;
        let batches = self.api.stores.journal.tail(self.position, PAGE).await?;
        let numbered = batches.into_iter().flat_map(|batch| {
            (batch.after().0 + 1..).map(Position).zip(batch.events).collect::<Vec<_>>()
        });
        Ok(numbered.filter(|(position, _)| *position > self.position).collect())
    }

    async fn read_past(&mut self, run: RunId) -> Result<StreamRead, ApiError> {
        let _turn = self.api.streams.catch_up_permit().await;
        // Asked before the page is read: what came up to then is in it.
        let upto = *self.api.stores.histories.moved().borrow();
        let record = self.api.stores.histories.record(run);
        let is_over = record.is_none_or(|record| record.status.is_terminal());
        let page = lookup::behind(&self.api, run, self.position, PAGE).await?;
        if let Some((last, _)) = page.last() {
            self.position = *last;
            let text = pick(&Arc::new(frames(&page)), |_| true);
            return Ok(text.map_or(StreamRead::Passed, StreamRead::Text));
        }
        let phase = if is_over { RunStreamPhase::Over } else { RunStreamPhase::Live };
        (self.subject, self.position) = (StreamSubject::Run(run, phase), self.position.max(upto));
        Ok(StreamRead::Passed)
    }

    /// A run that goes on: what is about it, and what interrupts it.
    async fn read_live(&mut self, run: RunId) -> Result<StreamRead, ApiError> {
        let batch = match self.ahead() {
            EventsAhead::Nothing => return Ok(StreamRead::Nothing),
            EventsAhead::Batch(batch) => batch,
            EventsAhead::Gone => {
                // Histories may be as far behind: to look there before they have come up would be to look again.
                lookup::caught_up(&self.api).await?;
                self.subject = StreamSubject::Run(run, RunStreamPhase::Past);
                return Ok(StreamRead::Passed);
            }
        };
        let (frames, told) = (batch.frames(), self.position);
        let is_news = |frame: &SseFrame| frame.position > told;
        let concerns = |frame: &SseFrame| frame.run == Some(run) || frame.kind == "led";
        let text = pick(frames, |frame| is_news(frame) && concerns(frame));
        self.position = batch.position;
        let ends = |frame: &SseFrame| frame.run == Some(run) && frame.kind == "run_ended";
        if frames.iter().any(|frame| is_news(frame) && ends(frame)) {
            self.subject = StreamSubject::Run(run, RunStreamPhase::Over);
        }
        Ok(text.map_or(StreamRead::Passed, StreamRead::Text))
    }

    /// Without an id: who comes back all the same is told so again.
    async fn end_frame(&self, run: RunId) -> Result<StreamRead, ApiError> {
        // What is told live may be ahead of what is kept.
        lookup::caught_up(&self.api).await?;
        let status = lookup::record(&self.api, run).await?.status;
        let data = json!({ "run": run.to_string(), "status": status.to_string() });
        Ok(StreamRead::End(format!("event: end\ndata: {data}\n\n").into()))
    }
}

fn frames(page: &[(Position, RecordedEvent)]) -> SseFrames {
    SseFrames::of(page.iter().map(|(position, it)| (*position, it.at, &it.event)))
}

/// The text of the frames that are wanted: where it is in one piece, that piece and no copy of it.
fn pick(frames: &Arc<SseFrames>, wanted: impl Fn(&SseFrame) -> bool) -> Option<Bytes> {
    let ranges = frames.ranges(wanted);
    match ranges.as_slice() {
        [] => None,
        [range] => Some(Bytes::from_owner(SharedSseText(Arc::clone(frames))).slice(range.clone())),
        several => {
            let pieces = several.iter().map(|range| &frames.text()[range.clone()]);
            Some(pieces.collect::<String>().into())
        }
    }
}

/// Text that many are told.
struct SharedSseText(Arc<SseFrames>);

impl AsRef<[u8]> for SharedSseText {
    fn as_ref(&self) -> &[u8] {
        self.0.text().as_bytes()
    }
}
