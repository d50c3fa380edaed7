//! A node of the tree.

use std::borrow::Cow;
use std::ops::Range;

/// A value with its place in the file.
#[derive(Clone, Debug)]
pub(crate) struct Node<'s> {
    pub(crate) span: Range<usize>,
    pub(crate) value: Value<'s>,
}

/// What a node holds.
#[derive(Clone, Debug)]
pub(crate) enum Value<'s> {
    /// Nothing was written, or `null`.
    Null,
    Scalar(Scalar<'s>),
    List(Vec<Node<'s>>),
    Map(Vec<Entry<'s>>),
    /// A problem was told about it already; nothing more is said.
    Broken,
}

/// Text, after quotes and escapes.
#[derive(Clone, Debug)]
pub(crate) struct Scalar<'s> {
    pub(crate) text: Cow<'s, str>,
    pub(crate) quote: Quote,
}

/// How a text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quote {
    Plain,
    Quoted,
    Block,
}

/// A key of a map and its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry<'s> {
    pub(crate) key: Key<'s>,
    pub(crate) value: Node<'s>,
}

/// How large a part of the tree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeSize {
    /// Values and keys.
    pub(crate) nodes: usize,
    /// Bytes of their texts.
    pub(crate) bytes: usize,
}

/// The key of an entry.
#[derive(Clone, Debug)]
pub(crate) struct Key<'s> {
    pub(crate) text: Cow<'s, str>,
    pub(crate) span: Range<usize>,
}

impl<'s> Node<'s> {
    /// What it is, in words for a sentence.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.value {
            Value::Null => "nothing",
            Value::Scalar(scalar) if scalar.looks_like_number() => "a number",
            Value::Scalar(scalar) if scalar.as_flag().is_some() => "true or false",
            Value::Scalar(_) => "a text",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
            Value::Broken => "something broken",
        }
    }

    pub(crate) const fn as_scalar(&self) -> Option<&Scalar<'s>> {
        match &self.value {
            Value::Scalar(scalar) => Some(scalar),
            Value::Null | Value::List(_) | Value::Map(_) | Value::Broken => None,
        }
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        self.as_scalar().map(|scalar| &*scalar.text)
    }

    /// The entries of a map; none of anything else.
    pub(crate) fn entries(&self) -> &[Entry<'s>] {
        match &self.value {
            Value::Map(entries) => entries,
            Value::Null | Value::Scalar(_) | Value::List(_) | Value::Broken => &[],
        }
    }

    /// The items of a list; a lone value is a list of one.
    pub(crate) fn many(&self) -> &[Self] {
        match &self.value {
            Value::List(items) => items,
            Value::Scalar(_) | Value::Map(_) => std::slice::from_ref(self),
            Value::Null | Value::Broken => &[],
        }
    }

    /// The value of this key.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.entries().iter().find(|entry| entry.key.text == key).map(|entry| &entry.value)
    }

    /// What a copy of it adds to the tree, with everything below.
    pub(crate) fn size(&self) -> NodeSize {
        match &self.value {
            Value::List(items) => items.iter().fold(NodeSize::ONE, |sum, it| sum.and(it.size())),
            Value::Map(entries) => entries.iter().fold(NodeSize::ONE, |sum, it| sum.and(it.size())),
            Value::Scalar(scalar) => NodeSize { nodes: 1, bytes: scalar.text.len() },
            Value::Null | Value::Broken => NodeSize::ONE,
        }
    }

    /// Where a part of its text stands in the file: exactly if the text is written there as it is, else the whole.
    pub(crate) fn locate(&self, source: &str, part: &Range<usize>) -> Range<usize> {
        let Some(scalar) = self.as_scalar() else { return self.span.clone() };
        let raw = source.get(self.span.clone()).unwrap_or("");
        let place = match scalar.quote {
            Quote::Plain => direct(raw, 0, &scalar.text, part),
            Quote::Quoted => direct(raw, 1, &scalar.text, part),
            Quote::Block => in_block(raw, &scalar.text, part),
        };
        let place = place.or_else(|| by_search(raw, &scalar.text, part));
        place.map_or(self.span.clone(), |place| {
            self.span.start + place.start..self.span.start + place.end
        })
    }
}

impl NodeSize {
    const ONE: Self = Self { nodes: 1, bytes: 0 };

    const fn and(self, other: Self) -> Self {
        Self { nodes: self.nodes + other.nodes, bytes: self.bytes + other.bytes }
    }
}

impl Entry<'_> {
    /// What a copy of it adds to the tree.
    pub(crate) fn size(&self) -> NodeSize {
        self.value.size().and(NodeSize { nodes: 1, bytes: self.key.text.len() })
    }
}

impl Scalar<'_> {
    /// `true` or `false`, unquoted.
    pub(crate) fn as_flag(&self) -> Option<bool> {
        match (self.quote, &*self.text) {
            (Quote::Plain, "true" | "True" | "TRUE") => Some(true),
            (Quote::Plain, "false" | "False" | "FALSE") => Some(false),
            _ => None,
        }
    }

    /// Whether YAML would read it as a number.
    pub(crate) fn looks_like_number(&self) -> bool {
        let digits = self.text.trim_start_matches(['-', '+']);
        self.quote == Quote::Plain
            && digits.starts_with(|c: char| c.is_ascii_digit())
            && digits.parse::<f64>().is_ok()
    }
}

/// The part, if the text stands in the file unchanged behind `skip` bytes.
fn direct(raw: &str, skip: usize, text: &str, part: &Range<usize>) -> Option<Range<usize>> {
    let written = raw.get(skip..skip + text.len())? == text;
    (written && part.end <= text.len()).then(|| part.start + skip..part.end + skip)
}

/// The part of a `|` block: its lines stand in the file behind their indentation.
fn in_block(raw: &str, text: &str, part: &Range<usize>) -> Option<Range<usize>> {
    let before = text.get(..part.start)?;
    let row = before.matches('\n').count();
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = text[line_start..].lines().next()?;
    let mut raw_lines = raw.split_inclusive('\n');
    let offset: usize = raw_lines.by_ref().take(row).map(str::len).sum();
    let raw_line = raw_lines.next()?.trim_end_matches(['\n', '\r']);
    let indent = raw_line.len().checked_sub(line.len())?;
    let start = offset + indent + part.start - line_start;
    let end = (start + part.len()).min(offset + raw_line.len());
    (raw_line.ends_with(line) && start <= end).then_some(start..end)
}

/// The part, if its text occurs once.
fn by_search(raw: &str, text: &str, part: &Range<usize>) -> Option<Range<usize>> {
    let wanted = text.get(part.clone()).filter(|wanted| !wanted.is_empty())?;
    let mut found = raw.match_indices(wanted);
    let (at, _) = found.next()?;
    found.next().is_none().then(|| at..at + wanted.len())
}
