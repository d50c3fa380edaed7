//! The events after a position: from memory if they are there, otherwise from the stores.

use std::sync::Arc;

use hyper::body::Bytes;
use serde_json::json;
use windlass_core::engine::Event;
use windlass_core::id::RunId;
use windlass_store::db::StoreError;
use windlass_store::journal::Position;

use super::filter::ApiEventFilter;
use crate::api::api_error::ApiError;
use crate::api::api_state::Api;
use crate::api::runs::lookup;
use crate::{EventFollower, FollowLimits, FollowedEvents, SseFrame, SseFrames};

/// The events in one page for a client that lags: about as many bytes as a connection buffers.
const PAGE: usize = 256;

/// Reads the events after a position, for one client.
#[derive(Debug)]
pub(in crate::api) struct SseReader {
    api: Arc<Api>,
    subject: StreamSubject,
    follower: EventFollower,
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
    pub(super) fn of_all(api: Arc<Api>, filter: ApiEventFilter, position: Position) -> Self {
        Self::new(api, StreamSubject::All(filter), position)
    }

    /// Reads the events of a run after a position.
    pub(in crate::api) fn of_run(
        api: Arc<Api>,
        run: RunId,
        super::StreamStart(position): super::StreamStart,
    ) -> Self {
        Self::new(api, StreamSubject::Run(run, RunStreamPhase::Past), position)
    }

    fn new(api: Arc<Api>, subject: StreamSubject, position: Position) -> Self {
        // One batch of the view at a time: a slow client must not keep more of them in memory.
        let limits = FollowLimits { recent_batches: 1, journal_events: PAGE };
        let follower = api.handle.views().follow(&api.stores.journal, position);
        Self { api, subject, follower: follower.with_limits(limits) }
    }

    /// Waits until there may be more to read.
    pub(super) async fn wait(&mut self) {
        self.follower.wait().await;
    }

    pub(super) const fn api(&self) -> &Arc<Api> {
        &self.api
    }

    /// The position up to which the cluster's events were read. A client with a filter cannot derive it from its events.
    pub(super) fn passed(&self) -> Option<Position> {
        match &self.subject {
            StreamSubject::All(_) => Some(self.follower.position()),
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

    async fn read_all(&mut self) -> Result<StreamRead, ApiError> {
        let Some(followed) = self.read_next().await? else { return Ok(StreamRead::Nothing) };
        let StreamSubject::All(filter) = &mut self.subject else { return Ok(StreamRead::Nothing) };
        if !filter.is_open() {
            for batch in followed.batches() {
                filter.learn(&self.api, batch.frames().iter()).await?;
            }
        }
        let text = text_of(&followed, |frame| filter.lets(frame));
        Ok(text.map_or(StreamRead::Passed, StreamRead::Text))
    }

    /// Reads the next events of the cluster. A read of the journal needs a permit.
    async fn read_next(&mut self) -> Result<Option<FollowedEvents>, ApiError> {
        let _turn = if self.follower.is_behind() {
            Some(self.api.streams.catch_up_permit().await)
        } else {
            None
        };
        let followed = self.follower.read().await?;
        match followed.as_ref().and_then(FollowedEvents::pruned) {
            Some(upto) => Err(StoreError::Pruned { upto }.into()),
            None => Ok(followed),
        }
    }

    async fn read_past(&mut self, run: RunId) -> Result<StreamRead, ApiError> {
        let _turn = self.api.streams.catch_up_permit().await;
        // Read before the page: the page has all events up to this position.
        let upto = *self.api.stores.histories.moved().borrow();
        let record = self.api.stores.histories.record(run);
        let is_over = record.is_none_or(|record| record.status.is_at_rest());
        let page = lookup::behind(&self.api, run, self.follower.position(), PAGE).await?;
        if let Some(last) = page.last() {
            self.follower.skip_to(last.position);
            let text = pick(&Arc::new(SseFrames::of(&page)), |_| true);
            return Ok(text.map_or(StreamRead::Passed, StreamRead::Text));
        }
        let phase = if is_over { RunStreamPhase::Over } else { RunStreamPhase::Live };
        self.subject = StreamSubject::Run(run, phase);
        self.follower.skip_to(self.follower.position().max(upto));
        Ok(StreamRead::Passed)
    }

    /// Reads the events of an active run, and the changes of the leader that interrupt it, from the view.
    async fn read_live(&mut self, run: RunId) -> Result<StreamRead, ApiError> {
        if self.follower.is_behind() {
            // Histories may be as far behind as this client: they have to catch up before they are read.
            lookup::caught_up(&self.api).await?;
            self.subject = StreamSubject::Run(run, RunStreamPhase::Past);
            return Ok(StreamRead::Passed);
        }
        let Some(followed) = self.read_next().await? else { return Ok(StreamRead::Nothing) };
        let concerns = |frame: &SseFrame| frame.run == Some(run) || frame.kind == "led";
        let text = text_of(&followed, concerns);
        if followed.iter().any(|recorded| puts_to_rest(&recorded.event, run)) {
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

/// Returns whether the run has ended or was interrupted with this event.
fn puts_to_rest(event: &Event, run: RunId) -> bool {
    let rests = matches!(event, Event::RunEnded(_) | Event::RunInterrupted(_));
    rests && event.run() == Some(run)
}

/// Returns the text of the wanted events. The text of one batch is not copied.
fn text_of(followed: &FollowedEvents, wanted: impl Fn(&SseFrame) -> bool) -> Option<Bytes> {
    let wanted = |frame: &SseFrame| frame.position > followed.after() && wanted(frame);
    let batches = followed.batches().iter();
    let mut texts: Vec<Bytes> = batches.filter_map(|batch| pick(batch.frames(), wanted)).collect();
    if texts.len() > 1 { Some(texts.concat().into()) } else { texts.pop() }
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
