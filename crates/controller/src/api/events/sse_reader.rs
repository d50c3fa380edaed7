//! The events after a position: from memory if they are there, otherwise from the stores.

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

/// The events in one page for a client that lags: about as many bytes as a connection buffers.
const PAGE: usize = 256;

/// Reads the events after a position, for one client.
#[derive(Debug)]
pub(in crate::api) struct SseReader {
    api: Arc<Api>,
    subject: StreamSubject,
    position: Position,
}

/// The subject of a stream.
#[derive(Debug)]
enum StreamSubject {
    All(ApiEventFilter),
    Run(RunId, RunStreamPhase),
}

/// The phase of a run's stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RunStreamPhase {
    /// Stored events may not be sent yet.
    Past,
    /// All stored events are sent.
    Live,
    /// The end of the run is sent.
    Over,
}

/// The result of a read.
#[derive(Debug)]
pub(super) enum StreamRead {
    /// The text of events.
    Text(Bytes),
    /// The filter selects no event up to the new position.
    Passed,
    /// No new events yet.
    Nothing,
    /// The last frame of the stream.
    End(Bytes),
}

impl SseReader {
    /// Reads the cluster's events after a position.
    pub(super) const fn of_all(api: Arc<Api>, filter: ApiEventFilter, position: Position) -> Self {
        Self { api, subject: StreamSubject::All(filter), position }
    }

    /// Reads the events of a run after a position.
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

    /// The position up to which the cluster's events were read. A client with a filter cannot derive it from its events.
    pub(super) fn passed(&self) -> Option<Position> {
        match &self.subject {
            StreamSubject::All(_) => Some(self.position),
            StreamSubject::Run(..) => None,
        }
    }

    /// Reads what is available now. It waits for the stores, but not for new events.
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

    /// Reads complete batches of the journal, at least one event of which is new.
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
        // Read before the page: the page has all events up to this position.
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

    /// Reads the events of an active run, and the changes of the leader that interrupt it.
    async fn read_live(&mut self, run: RunId) -> Result<StreamRead, ApiError> {
        let batch = match self.ahead() {
            EventsAhead::Nothing => return Ok(StreamRead::Nothing),
            EventsAhead::Batch(batch) => batch,
            EventsAhead::Gone => {
                // Histories may be as far behind as this client: they have to catch up before they are read.
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

    /// The frame that ends the stream. It has no id, so a client that reconnects gets it again.
    async fn end_frame(&self, run: RunId) -> Result<StreamRead, ApiError> {
        // Live events may be ahead of the histories.
        lookup::caught_up(&self.api).await?;
        let status = lookup::record(&self.api, run).await?.status;
        let data = json!({ "run": run.to_string(), "status": status.to_string() });
        Ok(StreamRead::End(format!("event: end\ndata: {data}\n\n").into()))
    }
}

fn frames(page: &[(Position, RecordedEvent)]) -> SseFrames {
    SseFrames::of(page.iter().map(|(position, it)| (*position, it.at, &it.event)))
}

/// The text of the selected frames; without a copy if they are contiguous.
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

/// Text that many clients share.
struct SharedSseText(Arc<SseFrames>);

impl AsRef<[u8]> for SharedSseText {
    fn as_ref(&self) -> &[u8] {
        self.0.text().as_bytes()
    }
}
