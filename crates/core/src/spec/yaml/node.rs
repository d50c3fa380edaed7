//! Nodes of the tree.

use std::borrow::Cow;
use std::ops::Range;

/// A value with its location in the file.
#[derive(Clone, Debug)]
pub(crate) struct YamlNode<'s> {
    pub(crate) span: Range<usize>,
    pub(crate) value: YamlValue<'s>,
}

/// The value of a node.
#[derive(Clone, Debug)]
pub(crate) enum YamlValue<'s> {
    /// No value, or `null`.
    Null,
    Scalar(YamlScalar<'s>),
    List(Vec<YamlNode<'s>>),
    Map(Vec<YamlEntry<'s>>),
    /// A problem is already reported for it; no further ones are.
    Broken,
}

/// A string without its quotes and escapes.
#[derive(Clone, Debug)]
pub(crate) struct YamlScalar<'s> {
    pub(crate) text: Cow<'s, str>,
    pub(crate) quote: YamlQuoting,
}

/// How a scalar is quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum YamlQuoting {
    Plain,
    Quoted,
    Block,
}

/// A key of a map and its value.
#[derive(Clone, Debug)]
pub(crate) struct YamlEntry<'s> {
    pub(crate) key: YamlKey<'s>,
    pub(crate) value: YamlNode<'s>,
}

/// The size of a subtree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct YamlNodeSize {
    /// Values and keys.
    pub(crate) nodes: usize,
    /// Bytes of their strings.
    pub(crate) bytes: usize,
}

/// The key of an entry.
#[derive(Clone, Debug)]
pub(crate) struct YamlKey<'s> {
    pub(crate) text: Cow<'s, str>,
    pub(crate) span: Range<usize>,
}

impl<'s> YamlNode<'s> {
    /// Describes the type as a phrase.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.value {
            YamlValue::Null => "nothing",
            YamlValue::Scalar(scalar) if scalar.looks_like_number() => "a number",
            YamlValue::Scalar(scalar) if scalar.as_flag().is_some() => "a boolean",
            YamlValue::Scalar(_) => "a string",
            YamlValue::List(_) => "a list",
            YamlValue::Map(_) => "a map",
            YamlValue::Broken => "an invalid value",
        }
    }

    pub(crate) const fn as_scalar(&self) -> Option<&YamlScalar<'s>> {
        match &self.value {
            YamlValue::Scalar(scalar) => Some(scalar),
            YamlValue::Null | YamlValue::List(_) | YamlValue::Map(_) | YamlValue::Broken => None,
        }
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        self.as_scalar().map(|scalar| &*scalar.text)
    }

    /// Returns the entries of a map; empty for other nodes.
    pub(crate) fn entries(&self) -> &[YamlEntry<'s>] {
        match &self.value {
            YamlValue::Map(entries) => entries,
            YamlValue::Null | YamlValue::Scalar(_) | YamlValue::List(_) | YamlValue::Broken => &[],
        }
    }

    /// Returns the items of a list; a single value is a list of one.
    pub(crate) fn items_or_self(&self) -> &[Self] {
        match &self.value {
            YamlValue::List(items) => items,
            YamlValue::Scalar(_) | YamlValue::Map(_) => std::slice::from_ref(self),
            YamlValue::Null | YamlValue::Broken => &[],
        }
    }

    /// Returns the value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.entries().iter().find(|entry| entry.key.text == key).map(|entry| &entry.value)
    }

    /// Returns the size of the subtree, which a copy adds.
    pub(crate) fn size(&self) -> YamlNodeSize {
        match &self.value {
            YamlValue::List(items) => {
                items.iter().fold(YamlNodeSize::ONE, |sum, it| sum.and(it.size()))
            }
            YamlValue::Map(entries) => {
                entries.iter().fold(YamlNodeSize::ONE, |sum, it| sum.and(it.size()))
            }
            YamlValue::Scalar(scalar) => YamlNodeSize { nodes: 1, bytes: scalar.text.len() },
            YamlValue::Null | YamlValue::Broken => YamlNodeSize::ONE,
        }
    }

    /// Returns the location of a part of the string: exact if the file contains it unchanged, otherwise the whole node.
    pub(crate) fn locate(&self, source: &str, part: &Range<usize>) -> Range<usize> {
        let Some(scalar) = self.as_scalar() else { return self.span.clone() };
        let raw = source.get(self.span.clone()).unwrap_or("");
        let place = match scalar.quote {
            YamlQuoting::Plain => direct(raw, 0, &scalar.text, part),
            YamlQuoting::Quoted => direct(raw, 1, &scalar.text, part),
            YamlQuoting::Block => in_block(raw, &scalar.text, part),
        };
        let place = place.or_else(|| by_search(raw, &scalar.text, part));
        place.map_or(self.span.clone(), |place| {
            self.span.start + place.start..self.span.start + place.end
        })
    }
}

impl YamlNodeSize {
    const ONE: Self = Self { nodes: 1, bytes: 0 };

    const fn and(self, other: Self) -> Self {
        Self { nodes: self.nodes + other.nodes, bytes: self.bytes + other.bytes }
    }
}

impl YamlEntry<'_> {
    /// Returns the size of the entry, which a copy adds.
    pub(crate) fn size(&self) -> YamlNodeSize {
        self.value.size().and(YamlNodeSize { nodes: 1, bytes: self.key.text.len() })
    }
}

impl YamlScalar<'_> {
    /// `true` or `false`, unquoted.
    pub(crate) fn as_flag(&self) -> Option<bool> {
        match (self.quote, &*self.text) {
            (YamlQuoting::Plain, "true" | "True" | "TRUE") => Some(true),
            (YamlQuoting::Plain, "false" | "False" | "FALSE") => Some(false),
            _ => None,
        }
    }

    /// Whether YAML would read it as a number.
    pub(crate) fn looks_like_number(&self) -> bool {
        let digits = self.text.trim_start_matches(['-', '+']);
        self.quote == YamlQuoting::Plain
            && digits.starts_with(|c: char| c.is_ascii_digit())
            && digits.parse::<f64>().is_ok()
    }
}

/// Locates the part if the file contains the string unchanged after `skip` bytes.
fn direct(raw: &str, skip: usize, text: &str, part: &Range<usize>) -> Option<Range<usize>> {
    let written = raw.get(skip..skip + text.len())? == text;
    (written && part.end <= text.len()).then(|| part.start + skip..part.end + skip)
}

/// Locates the part in a `|` block, whose lines are indented in the file.
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

/// Locates the part if it occurs exactly once.
fn by_search(raw: &str, text: &str, part: &Range<usize>) -> Option<Range<usize>> {
    let wanted = text.get(part.clone()).filter(|wanted| !wanted.is_empty())?;
    let mut found = raw.match_indices(wanted);
    let (at, _) = found.next()?;
    found.next().is_none().then(|| at..at + wanted.len())
}
