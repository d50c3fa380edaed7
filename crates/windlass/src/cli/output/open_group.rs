//! The open group in a log that folds groups.
//!
//! Groups cannot be nested, so only one step at a time prints into its group. Finished output of other steps waits until
//! that group ends, or has waited long enough: then the group is closed and opened again later.

use windlass_core::time::{Span, Time};
use windlass_store::logs::LogId;

use super::screen::{OutputStream, Screen, ScreenLine};
use super::step_output::{OutputMode, OutputTiming};
use super::terminal_caps::DisplayKind;

/// The most bytes that wait. The time limit keeps failures visible to a reader who watches.
const QUEUE_MAX: usize = 1 << 20;
const WAIT_MAX: Span = Span::secs(5);

impl Screen {
    /// Whether each step's output is a separate group.
    pub(super) fn has_groups(&self) -> bool {
        self.caps.display == DisplayKind::GitHub && self.mode == OutputMode::Group
    }

    /// Opens the group of a step, with its output so far.
    pub(super) fn open_group_for(&mut self, log: LogId) {
        let name = self.summary.plan().name(log.step).to_owned();
        self.open_group.open(log);
        self.put(ScreenLine { stream: OutputStream::Stderr, text: format!("::group::{name}") });
        for text in self.step_output.set_timing(log, OutputTiming::Immediate) {
            self.put(ScreenLine { stream: OutputStream::Stdout, text });
        }
    }

    /// Closes the open group, and prints the lines that waited for it.
    pub(super) fn close_group(&mut self) {
        if let Some(owner) = self.open_group.owner() {
            self.step_output.set_timing(owner, OutputTiming::AtEnd);
            self.put(ScreenLine { stream: OutputStream::Stderr, text: "::endgroup::".to_owned() });
        }
        for line in self.open_group.close() {
            self.put(line);
        }
    }

    /// Ends the group of a step that has ended, or prints it as a whole.
    pub(super) fn end_group(
        &mut self,
        now: Time,
        log: LogId,
        lines: Vec<String>,
        said: ScreenLine,
    ) {
        let talk = |text: &str| ScreenLine { stream: OutputStream::Stderr, text: text.to_owned() };
        let data = |text: String| ScreenLine { stream: OutputStream::Stdout, text };
        if self.open_group.owner() == Some(log) {
            for text in lines {
                self.put(data(text));
            }
            self.close_group();
            self.put(said);
            let next = self.step_output.held_back().next();
            if let Some(next) = next {
                self.open_group_for(next);
            }
            return;
        }
        let mut group = Vec::new();
        if !lines.is_empty() {
            group.push(talk(&format!("::group::{}", self.summary.plan().name(log.step))));
            group.extend(lines.into_iter().map(data));
            group.push(talk("::endgroup::"));
        }
        group.push(said);
        if self.open_group.owner().is_some() {
            self.open_group.enqueue(now, group);
        } else {
            for line in group {
                self.put(line);
            }
        }
    }
}

/// The step of the open group, and the lines that wait for its end.
#[derive(Debug, Default)]
pub(super) struct OpenGroup {
    owner: Option<LogId>,
    queue: Vec<ScreenLine>,
    queued: usize,
    since: Option<Time>,
}

impl OpenGroup {
    pub(super) fn owner(&self) -> Option<LogId> {
        self.owner
    }

    pub(super) fn open(&mut self, log: LogId) {
        self.owner = Some(log);
    }

    /// Queues lines until the open group ends.
    pub(super) fn enqueue(&mut self, now: Time, lines: Vec<ScreenLine>) {
        self.queued += lines.iter().map(|line| line.text.len()).sum::<usize>();
        self.queue.extend(lines);
        self.since.get_or_insert(now);
    }

    /// Whether lines have waited long enough.
    pub(super) fn is_overdue(&self, now: Time) -> bool {
        let late = self.since.is_some_and(|since| now.since(since) >= WAIT_MAX);
        late || self.queued > QUEUE_MAX
    }

    /// Closes the group; returns the lines that waited for it.
    pub(super) fn close(&mut self) -> Vec<ScreenLine> {
        *self = Self { owner: None, queue: std::mem::take(&mut self.queue), ..Self::default() };
        std::mem::take(&mut self.queue)
    }
}
