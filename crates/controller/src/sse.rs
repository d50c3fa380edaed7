//! The text of server-sent events, created once for all streams.
//!
//! ```text
//! id: 17
//! event: granted
//! data: {"at":"…","data":{…},"pos":17,"type":"granted","v":1,…}
//! ```
//!
//! A thousand clients follow the same events and differ only in their filters. The text is therefore kept beside the
//! events, with the properties of each event that filters test.

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

use windlass_core::id::RunId;
use windlass_store::journal::{Position, RecordedEvent};

/// Events as text, one frame after the other.
#[derive(Debug, Default)]
pub struct SseFrames {
    text: String,
    list: Vec<SseFrame>,
}

/// The properties of an event that filters test.
#[derive(Clone, Copy, Debug)]
pub struct SseFrame {
    /// The event's position in the journal.
    pub position: Position,
    /// The run that the event concerns, if any.
    pub run: Option<RunId>,
    /// The event's type.
    pub kind: &'static str,
    /// The end of its text. The text begins where the previous frame ends.
    end: usize,
}

impl SseFrames {
    /// Returns the frames of these events.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Arc<RecordedEvent>>) -> Self {
        let mut frames = Self::default();
        events.into_iter().for_each(|recorded| frames.push(recorded));
        frames
    }

    fn push(&mut self, recorded: &RecordedEvent) {
        let RecordedEvent { position, at, event } = recorded;
        let (position, kind, json) = (*position, event.kind(), event.to_json(position.0, *at));
        write!(self.text, "id: {position}\nevent: {kind}\ndata: {json}\n\n")
            .expect("a text takes whatever is written to it");
        self.list.push(SseFrame { position, run: event.run(), kind, end: self.text.len() });
    }

    /// Returns the text of all frames.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the properties of each frame.
    pub fn iter(&self) -> impl Iterator<Item = &SseFrame> {
        self.list.iter()
    }

    /// Returns the byte ranges of the wanted frames. Neighbouring frames are one range.
    pub fn ranges(&self, wanted: impl Fn(&SseFrame) -> bool) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let mut begin = 0;
        for frame in &self.list {
            if wanted(frame) {
                match ranges.last_mut().filter(|last| last.end == begin) {
                    Some(last) => last.end = frame.end,
                    None => ranges.push(begin..frame.end),
                }
            }
            begin = frame.end;
        }
        ranges
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::engine::{Event, event};
    use windlass_core::id::WorkerId;
    use windlass_core::time::Time;

    use super::*;

    fn frames() -> SseFrames {
        let lost = |worker| Event::WorkerLost(event::WorkerLost { worker: WorkerId(worker) });
        let events = [lost(1), Event::RunSealed(event::RunSealed { run: RunId(7) }), lost(2)];
        let events = events.map(|event| (Time::ZERO, event));
        SseFrames::of(&RecordedEvent::sequence(Position(4), events).collect::<Vec<_>>())
    }

    #[test]
    fn frame_has_position_type_and_event() {
        let frames = frames();
        let first = &frames.text()[frames.ranges(|frame| frame.position == Position(5))[0].clone()];
        let (head, data) = first.split_once("data: ").expect("it has data");
        assert_eq!(head, "id: 5\nevent: worker_lost\n");
        let data: serde_json::Value = serde_json::from_str(data).expect("it is JSON");
        assert_eq!((&data["pos"], &data["type"]), (&5.into(), &"worker_lost".into()));
        assert!(first.ends_with("}\n\n") && first.matches('\n').count() == 4, "{first}");
    }

    #[test]
    fn wanted_neighbours_are_one_range() {
        let frames = frames();
        let all = frames.text().len();
        assert_eq!(frames.ranges(|_| true), vec![0..all; 1]);
        assert!(frames.ranges(|_| false).is_empty());
        let lost = frames.ranges(|frame| frame.kind == "worker_lost");
        assert_eq!((lost.len(), lost[0].start, lost[1].end), (2, 0, all));
        let of_run = frames.ranges(|frame| frame.run == Some(RunId(7)));
        assert_eq!(of_run, vec![lost[0].end..lost[1].start; 1]);
    }
}
