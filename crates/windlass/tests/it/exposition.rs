//! A strict parser of the Prometheus text format 0.0.4, which panics at every deviation.

use std::collections::{BTreeMap, BTreeSet};

/// A valid page of metrics.
#[derive(Debug)]
pub(crate) struct ParsedMetricsPage {
    families: BTreeMap<String, ParsedMetricFamily>,
}

/// A metric with its declarations.
#[derive(Debug)]
pub(crate) struct ParsedMetricFamily {
    pub(crate) kind: String,
    pub(crate) samples: Vec<ParsedMetricSample>,
}

#[derive(Debug)]
pub(crate) struct ParsedMetricSample {
    name: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) value: f64,
}

impl ParsedMetricsPage {
    pub(crate) fn read(text: &str) -> Self {
        assert!(text.ends_with('\n'), "the last line has no end");
        let mut families: BTreeMap<String, ParsedMetricFamily> = BTreeMap::new();
        let (mut helped, mut current) = (None, String::new());
        for line in text.lines() {
            assert!(!line.is_empty(), "an empty line");
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, words) = help.split_once(' ').expect("help has words");
                assert!(is_name(name) && !words.is_empty(), "{line}");
                helped = Some(name.to_owned());
            } else if let Some(typed) = line.strip_prefix("# TYPE ") {
                let (name, kind) = typed.split_once(' ').expect("a type has a word");
                assert_eq!(helped.take().as_deref(), Some(name), "help comes before: {line}");
                assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
                assert!(kind != "counter" || name.ends_with("_total"), "{line}");
                let family = ParsedMetricFamily { kind: kind.to_owned(), samples: Vec::new() };
                assert!(families.insert(name.to_owned(), family).is_none(), "twice: {line}");
                name.clone_into(&mut current);
            } else {
                let family = families.get_mut(&current).expect("a type comes before samples");
                let sample = ParsedMetricSample::read(line);
                assert!(family.takes(&current, &sample.name), "{line} is not of {current}");
                family.samples.push(sample);
            }
        }
        families.values().for_each(ParsedMetricFamily::check);
        Self { families }
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.families.keys().map(String::as_str).collect()
    }

    pub(crate) fn family(&self, name: &str) -> &ParsedMetricFamily {
        self.families.get(name).unwrap_or_else(|| panic!("there is no {name}"))
    }

    /// The value of a sample by its name and all of its labels.
    pub(crate) fn value(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let is = |sample: &&ParsedMetricSample| {
            let named = |(label, value): &(&str, &str)| {
                sample.labels.get(*label).is_some_and(|it| it == value)
            };
            sample.name == name && sample.labels.len() == labels.len() && labels.iter().all(named)
        };
        let mut samples = self.families.values().flat_map(|family| &family.samples);
        samples.find(is).unwrap_or_else(|| panic!("there is no {name} {labels:?}")).value
    }

    /// The sum of all samples of a family.
    pub(crate) fn sum(&self, name: &str) -> f64 {
        self.family(name).samples.iter().map(|sample| sample.value).sum()
    }

    /// Every sample, counted.
    pub(crate) fn series(&self) -> usize {
        self.families.values().map(|family| family.samples.len()).sum()
    }
}

impl ParsedMetricFamily {
    fn takes(&self, name: &str, sample: &str) -> bool {
        let Some(end) = sample.strip_prefix(name) else { return false };
        if self.kind == "histogram" {
            ["_bucket", "_sum", "_count"].contains(&end)
        } else {
            end.is_empty()
        }
    }

    fn check(&self) {
        let mut seen = BTreeSet::new();
        for sample in &self.samples {
            assert!(seen.insert((&sample.name, &sample.labels)), "twice: {sample:?}");
            let counts = self.kind != "gauge";
            assert!(!counts || sample.value >= 0.0, "{sample:?}");
        }
        if self.kind == "histogram" {
            self.check_histogram();
        }
    }

    fn check_histogram(&self) {
        let mut buckets: BTreeMap<BTreeMap<String, String>, Vec<(f64, f64)>> = BTreeMap::new();
        for sample in self.samples.iter().filter(|it| it.name.ends_with("_bucket")) {
            let mut labels = sample.labels.clone();
            let bound = labels.remove("le").expect("a bucket has a bound");
            buckets.entry(labels).or_default().push((number(&bound), sample.value));
        }
        let of = |end: &str, labels| {
            let mut samples = self.samples.iter().filter(|it| it.name.ends_with(end));
            samples.find(|it| it.labels == labels).expect("each has a sum and a count").value
        };
        for (labels, buckets) in buckets {
            assert!(buckets.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "{labels:?} {buckets:?}");
            let last = buckets.last().expect("it has buckets");
            assert_eq!(
                (last.0, last.1),
                (f64::INFINITY, of("_count", labels.clone())),
                "{labels:?}"
            );
            assert!((of("_sum", labels.clone()) > 0.0) <= (last.1 > 0.0), "{labels:?}");
        }
    }
}

impl ParsedMetricSample {
    fn read(line: &str) -> Self {
        let end = line.find(['{', ' ']).expect("a sample has a value");
        let (name, mut rest) = line.split_at(end);
        assert!(is_name(name), "{line}");
        let mut labels = BTreeMap::new();
        if let Some(inside) = rest.strip_prefix('{') {
            rest = inside;
            while !rest.starts_with('}') {
                let (label, value, behind) = label(rest, line);
                assert!(labels.insert(label, value).is_none(), "a label twice: {line}");
                rest = behind.strip_prefix(',').unwrap_or(behind);
                assert!(behind.starts_with([',', '}']), "{line}");
            }
            rest = &rest[1..];
        }
        let value = rest.strip_prefix(' ').unwrap_or_else(|| panic!("{line}"));
        Self { name: name.to_owned(), labels, value: number(value) }
    }
}

/// Parses `name="value"`; returns the rest too.
fn label<'a>(text: &'a str, line: &str) -> (String, String, &'a str) {
    let (name, quoted) = text.split_once("=\"").unwrap_or_else(|| panic!("{line}"));
    assert!(is_name(name) && !name.contains(':') && !name.starts_with("__"), "{line}");
    let (mut value, mut chars) = (String::new(), quoted.char_indices());
    loop {
        match chars.next().unwrap_or_else(|| panic!("no end: {line}")) {
            (at, '"') => return (name.to_owned(), value, &quoted[at + 1..]),
            (_, '\\') => value.push(match chars.next() {
                Some((_, 'n')) => '\n',
                Some((_, same @ ('\\' | '"'))) => same,
                other => panic!("\\{other:?} means nothing: {line}"),
            }),
            (_, char) => value.push(char),
        }
    }
}

fn is_name(text: &str) -> bool {
    let first = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == ':');
    first && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':')
}

fn number(text: &str) -> f64 {
    match text {
        "+Inf" => f64::INFINITY,
        "-Inf" => f64::NEG_INFINITY,
        "NaN" => f64::NAN,
        digits => {
            assert!(!digits.contains(|c: char| c.is_ascii_alphabetic() && c != 'e'), "{text}");
            digits.parse().unwrap_or_else(|_| panic!("`{text}` is no number"))
        }
    }
}

#[test]
fn violations_of_the_metrics_format_are_found() {
    let head = "# HELP a_total A.\n# TYPE a_total counter\n";
    let good = format!("{head}a_total{{x=\"1\\\"\\\\\\n\",y=\"\"}} 3\n");
    let read = ParsedMetricsPage::read(&good);
    assert!((read.value("a_total", &[("x", "1\"\\\n"), ("y", "")]) - 3.0).abs() < f64::EPSILON);
    let histogram = "# HELP h H.\n# TYPE h histogram\nh_bucket{le=\"1\"} 2\n";
    let bad = [
        "a_total 3\n".to_owned(),
        "# TYPE a_total counter\na_total 3\n".to_owned(),
        format!("{head}a_total 3"),
        format!("{head}a_total 3\na_total 4\n"),
        format!("{head}b_total 3\n"),
        format!("{head}a_total{{x=\"1\"\" 3\n"),
        format!("{head}a_total{{x=\"\\t\"}} 3\n"),
        format!("{head}a_total inf\n"),
        format!("{head}{head}"),
        "# HELP a A.\n# TYPE a counter\na 3\n".to_owned(),
        format!("{histogram}h_sum 1\nh_count 2\n"),
        format!("{histogram}h_bucket{{le=\"+Inf\"}} 1\nh_sum 1\nh_count 1\n"),
        format!("{histogram}h_bucket{{le=\"+Inf\"}} 3\nh_sum 1\nh_count 2\n"),
    ];
    for text in bad {
        let read = std::panic::catch_unwind(|| ParsedMetricsPage::read(&text));
        assert!(read.is_err(), "nothing was found in {text}");
    }
}
