//! The text format 0.0.4: families with their help and type, then their samples.

use std::fmt::{Display, Write as _};

use super::family::{MetricFamily, MetricKind};
use super::histogram::Histogram;

/// A page of metrics that is being written.
#[derive(Debug, Default)]
pub(super) struct MetricsText(String);

impl MetricsText {
    pub(super) fn finish(self) -> String {
        self.0
    }

    /// Begins a family. Each family comes once.
    pub(super) fn family(&mut self, family: &'static MetricFamily) -> MetricSamples<'_> {
        let MetricFamily { name, kind, help, .. } = family;
        self.line(format_args!("# HELP {name} {}", escaped_help(help)));
        self.line(format_args!("# TYPE {name} {}", kind.word()));
        MetricSamples { text: self, family }
    }

    /// Adds a family of one sample without labels.
    pub(super) fn one(&mut self, family: &'static MetricFamily, value: impl Display) {
        self.family(family).put(&[], value);
    }

    /// Adds a family of one histogram without labels.
    pub(super) fn histogram(&mut self, family: &'static MetricFamily, histogram: &Histogram) {
        self.family(family).histogram(&[], histogram);
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.0, "{line}").expect("a string takes everything");
    }
}

/// The samples of a family.
#[derive(Debug)]
pub(super) struct MetricSamples<'a> {
    text: &'a mut MetricsText,
    family: &'static MetricFamily,
}

impl MetricSamples<'_> {
    /// Adds a sample with these values of the family's labels.
    pub(super) fn put(&mut self, values: &[&str], value: impl Display) {
        let labels = self.labels(values, None);
        self.text.line(format_args!("{}{labels} {value}", self.family.name));
    }

    /// Adds the samples of a histogram.
    pub(super) fn histogram(&mut self, values: &[&str], histogram: &Histogram) {
        assert_eq!(self.family.kind, MetricKind::Histogram, "{} is none", self.family.name);
        let name = self.family.name;
        let seen = histogram.read();
        for (bound, up_to) in &seen.buckets {
            let labels = self.labels(values, Some(bound));
            self.text.line(format_args!("{name}_bucket{labels} {up_to}"));
        }
        let labels = self.labels(values, Some("+Inf"));
        self.text.line(format_args!("{name}_bucket{labels} {}", seen.count));
        let labels = self.labels(values, None);
        self.text.line(format_args!("{name}_sum{labels} {}", seen.sum));
        self.text.line(format_args!("{name}_count{labels} {}", seen.count));
    }

    fn labels(&self, values: &[&str], bound: Option<&str>) -> String {
        let MetricFamily { name, labels, .. } = self.family;
        assert_eq!(labels.len(), values.len(), "{name} has labels {labels:?}");
        let named = labels.iter().copied().zip(values.iter().copied());
        let all = named.chain(bound.map(|bound| ("le", bound)));
        let written = all.map(|(label, value)| format!("{label}=\"{}\"", escaped(value)));
        let written = written.collect::<Vec<_>>().join(",");
        if written.is_empty() { written } else { format!("{{{written}}}") }
    }
}

fn escaped(value: &str) -> String {
    escaped_help(value).replace('"', "\\\"")
}

fn escaped_help(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::family::{BATCH, QUEUE_STEPS};

    #[test]
    fn label_values_are_escaped() {
        let mut text = MetricsText::default();
        text.family(&QUEUE_STEPS).put(&["a \"b\" \\ c\nd"], 3);
        let page = text.finish();
        assert!(page.ends_with("{requires=\"a \\\"b\\\" \\\\ c\\nd\"} 3\n"), "{page}");
    }

    #[test]
    fn a_histogram_is_cumulative() {
        let mut text = MetricsText::default();
        let histogram = Histogram::of_counts();
        for events in [1, 3, 1_000_000] {
            histogram.observe_count(events);
        }
        text.histogram(&BATCH, &histogram);
        let page = text.finish();
        let samples: Vec<&str> = page.lines().skip(2).collect();
        assert_eq!(
            samples[..3],
            [
                "windlass_batch_events_bucket{le=\"1\"} 1",
                "windlass_batch_events_bucket{le=\"2\"} 1",
                "windlass_batch_events_bucket{le=\"4\"} 2",
            ]
        );
        assert_eq!(
            samples[samples.len() - 3..],
            [
                "windlass_batch_events_bucket{le=\"+Inf\"} 3",
                "windlass_batch_events_sum 1000004",
                "windlass_batch_events_count 3",
            ]
        );
    }
}
