//! Events as a stream of them is written: made once, for everybody who follows.
//!
//! ```text
//! id: 17
//! event: granted
//! data: {"at":"…","data":{…},"pos":17,"type":"granted","v":1,…}
//! ```
//!
//! A thousand clients follow the same events. What differs between them is only which ones they are told, so the text is
//! kept beside the events, with as much about each as decides that.

use std::fmt::Write as _;
use std::ops::Range;

use windlass_core::engine::Event;
use windlass_core::id::RunId;
use windlass_core::time::Time;
use windlass_store::journal::Position;

/// Events as text, one frame after the other.
#[derive(Debug, Default)]
pub struct SseFrames {
    text: String,
    list: Vec<SseFrame>,
}

/// What decides whether somebody is told an event.
#[derive(Clone, Copy, Debug)]
pub struct SseFrame {
    /// The event's place in the journal.
    pub position: Position,
    /// The run that it is about, if it is about one.
    pub run: Option<RunId>,
    /// The word for what happened.
    pub kind: &'static str,
    /// Where its text ends; it begins where that of the frame before ends.
    end: usize,
}

impl SseFrames {
    /// The frames of these events.
    pub fn of<'a>(events: impl Iterator<Item = (Position, Time, &'a Event)>) -> Self {
        let mut frames = Self::default();
        for (position, at, event) in events {
            frames.push(position, at, event);
        }
        frames
    }

    fn push(&mut self, position: Position, at: Time, event: &Event) {
        let (kind, json) = (event.kind(), event.to_json(position.0, at));
        write!(self.text, "id: {position}\nevent: {kind}\ndata: {json}\n\n")
            .expect("a text takes whatever is written to it");
        self.list.push(SseFrame { position, run: event.run(), kind, end: self.text.len() });
    }

    /// The text of all of them.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What is known of each.
    pub fn iter(&self) -> impl Iterator<Item = &SseFrame> {
        self.list.iter()
    }

    /// Where the text is of those that are wanted; neighbours are one range.
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
    use windlass_core::engine::event;
    use windlass_core::id::WorkerId;

    use super::*;

    fn frames() -> SseFrames {
        let lost = |worker| Event::WorkerLost(event::WorkerLost { worker: WorkerId(worker) });
        let events = [lost(1), Event::RunSealed(event::RunSealed { run: RunId(7) }), lost(2)];
        SseFrames::of((5..).map(Position).zip(&events).map(|(at, event)| (at, Time::ZERO, event)))
    }

    #[test]
    fn a_frame_has_its_place_its_kind_and_the_event() {
        let frames = frames();
        let first = &frames.text()[frames.ranges(|frame| frame.position == Position(5))[0].clone()];
        let (head, data) = first.split_once("data: ").expect("it has data");
        assert_eq!(head, "id: 5\nevent: worker_lost\n");
        let data: serde_json::Value = serde_json::from_str(data).expect("it is JSON");
        assert_eq!((&data["pos"], &data["type"]), (&5.into(), &"worker_lost".into()));
        assert!(first.ends_with("}\n\n") && first.matches('\n').count() == 4, "{first}");
    }

    #[test]
    fn what_is_wanted_is_found_in_as_few_pieces_as_can_be() {
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
