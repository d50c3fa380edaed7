//! The label values of the queue: a limited number of requirements.

use std::collections::BTreeMap;

use windlass_core::report::ClassReport;
use windlass_core::time::Time;

/// Requirements that have a label value of their own. Each costs two series for as long as the metrics database keeps
/// them.
const NAMES_MAX: usize = 32;

/// The longest label value, in characters. A requirement may be as long as its file.
const LENGTH_MAX: usize = 120;

/// The label value of all other requirements.
const OTHER: &str = "other";

/// The requirements that have a label value. The first ones keep it for as long as the process lives. If the busiest
/// ones had it, each requirement would get it sooner or later, and the database would keep them all.
#[derive(Debug, Default)]
pub(super) struct QueueLabels(Vec<String>);

/// The steps that wait for the same kind of worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WaitingSteps {
    pub(super) steps: usize,
    /// The time since which the oldest waits.
    pub(super) oldest: Option<Time>,
}

impl QueueLabels {
    /// Returns the waiting steps by label value. A known label value stays, with zero, when nothing waits for it any
    /// more.
    pub(super) fn sort(&mut self, queue: &[ClassReport]) -> BTreeMap<String, WaitingSteps> {
        let mut waiting: BTreeMap<String, WaitingSteps> =
            self.0.iter().map(|name| (name.clone(), WaitingSteps::default())).collect();
        for class in queue {
            let name = self.name(&class.requires);
            let entry = waiting.entry(name).or_default();
            entry.steps += class.ready;
            entry.oldest = Some(entry.oldest.map_or(class.oldest, |it| it.min(class.oldest)));
        }
        waiting
    }

    fn name(&mut self, requires: &str) -> String {
        let name: String = requires.chars().take(LENGTH_MAX).collect();
        if self.0.contains(&name) {
            return name;
        }
        if self.0.len() == NAMES_MAX {
            return OTHER.to_owned();
        }
        self.0.push(name.clone());
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(requires: String, ready: usize, oldest: u64) -> ClassReport {
        let oldest = Time::from_millis(oldest);
        let (prefers, locked, workers, free) = (Vec::new(), 0, 0, 0);
        ClassReport { requires, prefers, ready, locked, oldest, workers, free }
    }

    #[test]
    fn ten_thousand_requirements_are_thirty_three_label_values() {
        let mut names = QueueLabels::default();
        let queue: Vec<ClassReport> =
            (0..10_000).map(|at| class(format!("label-{at}"), 2, 100 + at)).collect();
        let waiting = names.sort(&queue);
        assert_eq!(waiting.len(), NAMES_MAX + 1);
        let rest = WaitingSteps { steps: 2 * (10_000 - 32), oldest: Some(Time::from_millis(132)) };
        assert_eq!(waiting[OTHER], rest);
        assert_eq!(waiting["label-7"].steps, 2);

        let later =
            names.sort(&[class("label-9999".to_owned(), 1, 5), class("x".repeat(999), 1, 5)]);
        assert_eq!(later.len(), NAMES_MAX + 1, "what was seen first keeps its value");
        assert_eq!(later["label-7"], WaitingSteps::default());
    }

    #[test]
    fn preferences_do_not_split_a_label_value() {
        let mut names = QueueLabels::default();
        let waiting = names.sort(&[class("gpu".to_owned(), 1, 9), class("gpu".to_owned(), 3, 4)]);
        assert_eq!(waiting["gpu"], WaitingSteps { steps: 4, oldest: Some(Time::from_millis(4)) });
    }
}
