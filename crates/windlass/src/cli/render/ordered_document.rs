//! A document with ordered keys, written as YAML or as JSON.

use std::fmt::Write as _;

/// A part of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OrderedDocument {
    /// Text.
    Text(String),
    /// A number or a flag, written as it is.
    Bare(String),
    /// Items.
    List(Vec<OrderedDocument>),
    /// Keys and their values.
    Map(Vec<(String, OrderedDocument)>),
}

impl OrderedDocument {
    /// Text.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A number or a flag.
    pub(crate) fn bare(value: &impl ToString) -> Self {
        Self::Bare(value.to_string())
    }

    /// One item alone, or several as a list.
    pub(crate) fn one_or_list(mut items: Vec<Self>) -> Self {
        match items.pop() {
            Some(only) if items.is_empty() => only,
            last => {
                items.extend(last);
                Self::List(items)
            }
        }
    }

    /// As YAML: maps in blocks, lists of scalars in brackets.
    pub(crate) fn yaml(&self) -> String {
        let mut page = String::new();
        self.block(&mut page, 0);
        page
    }

    /// As JSON, indented.
    pub(crate) fn json(&self) -> String {
        let mut page = String::new();
        self.write_json(&mut page, 0);
        page
    }

    fn block(&self, page: &mut String, depth: usize) {
        let Self::Map(entries) = self else {
            return page.push_str(&self.flow());
        };
        for (key, value) in entries {
            let _ = write!(page, "{}{}:", "  ".repeat(depth), key_text(key, ScalarPosition::Block));
            match value {
                Self::Map(inner) if inner.is_empty() => page.push_str(" {}\n"),
                Self::Map(_) => {
                    page.push('\n');
                    value.block(page, depth + 1);
                }
                Self::Text(text) if is_block(text) => literal(page, text, depth + 1),
                Self::Text(text) => {
                    let _ = writeln!(page, " {}", scalar(text, ScalarPosition::Block));
                }
                Self::List(_) | Self::Bare(_) => {
                    let _ = writeln!(page, " {}", value.flow());
                }
            }
        }
    }

    fn flow(&self) -> String {
        let each = |items: &[Self]| items.iter().map(Self::flow).collect::<Vec<_>>().join(", ");
        match self {
            Self::Text(text) => scalar(text, ScalarPosition::Flow),
            Self::Bare(text) => text.clone(),
            Self::List(items) => format!("[{}]", each(items)),
            Self::Map(entries) => {
                let entry = |(key, value): &(String, Self)| {
                    format!("{}: {}", key_text(key, ScalarPosition::Flow), value.flow())
                };
                format!("{{ {} }}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
            }
        }
    }

    fn write_json(&self, page: &mut String, depth: usize) {
        match self {
            Self::Text(text) => page.push_str(&quoted(text)),
            Self::Bare(text) => page.push_str(text),
            Self::List(items) => {
                let parts = items.iter().map(|item| (None, item));
                json_parts(page, depth, ['[', ']'], parts);
            }
            Self::Map(entries) => {
                let parts = entries.iter().map(|(key, value)| (Some(&**key), value));
                json_parts(page, depth, ['{', '}'], parts);
            }
        }
    }
}

fn json_parts<'a>(
    page: &mut String,
    depth: usize,
    [open, close]: [char; 2],
    parts: impl Iterator<Item = (Option<&'a str>, &'a OrderedDocument)>,
) {
    page.push(open);
    let mut filled = false;
    for (key, value) in parts {
        page.push_str(if filled { ",\n" } else { "\n" });
        filled = true;
        page.push_str(&"  ".repeat(depth + 1));
        if let Some(key) = key {
            let _ = write!(page, "{}: ", quoted(key));
        }
        value.write_json(page, depth + 1);
    }
    if filled {
        let _ = write!(page, "\n{}", "  ".repeat(depth));
    }
    page.push(close);
}

/// Whether the text can and should be written as a block after `|`.
fn is_block(text: &str) -> bool {
    let odd = |c: char| c.is_control() && c != '\n';
    let first = text.trim_start_matches('\n');
    text.contains('\n')
        && !text.starts_with('\n')
        && !first.starts_with([' ', '\t'])
        && !text.contains([BOM, '\u{2028}', '\u{2029}'])
        && !text.trim().is_empty()
        && !text.chars().any(odd)
}

const BOM: char = '\u{feff}';

fn literal(page: &mut String, text: &str, depth: usize) {
    let body = text.trim_end_matches('\n');
    let mark = match text.len() - body.len() {
        0 => "|-",
        1 => "|",
        _ => "|+",
    };
    let _ = writeln!(page, " {mark}");
    let breaks = text.len() - body.len();
    for line in body.split('\n').chain(std::iter::repeat_n("", breaks.saturating_sub(1))) {
        let indent = if line.is_empty() { String::new() } else { "  ".repeat(depth) };
        let _ = writeln!(page, "{indent}{line}");
    }
}

/// The position of a scalar: within brackets, commas and braces would end it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ScalarPosition {
    Block,
    Flow,
}

/// The text unchanged if YAML reads it as text, else quoted.
fn scalar(text: &str, at: ScalarPosition) -> String {
    let single =
        text.contains(['"', '\\']) && !text.contains('\'') && !text.contains(char::is_control);
    match () {
        () if is_plain(text, at) && !WORDS.contains(&&*text.to_lowercase()) => text.to_owned(),
        () if single => format!("'{text}'"),
        () => quoted(text),
    }
}

/// A key that reads like a flag stays bare, unless it is a YAML keyword.
fn key_text(key: &str, at: ScalarPosition) -> String {
    let own = ["true", "false", "null"].contains(&&*key.to_lowercase());
    if is_plain(key, at) && !own { key.to_owned() } else { quoted(key) }
}

/// Texts that some YAML versions read as flags.
const WORDS: &[&str] = &["true", "false", "null", "yes", "no", "on", "off", "y", "n"];

/// Whether YAML reads the bare text as text.
fn is_plain(text: &str, at: ScalarPosition) -> bool {
    let first = |c: char| c.is_ascii_alphanumeric() || "_./".contains(c);
    let rest = |c: char| {
        let block = at == ScalarPosition::Block && ",[]{}".contains(c);
        c.is_ascii_alphanumeric() || "_./-=<>@+()$!&|*;%\"' ".contains(c) || block
    };
    text.starts_with(first)
        && text.chars().all(rest)
        && !text.ends_with(' ')
        && text.parse::<f64>().is_err()
        && (is_unit(text) || !text.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
}

/// `15m`, `5s..1m`: not a number, despite the first character.
fn is_unit(text: &str) -> bool {
    let amount = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_digit())
            && part.ends_with(|c: char| c.is_ascii_alphabetic())
            && part.chars().all(|c| c.is_ascii_digit() || "msh".contains(c))
    };
    text.starts_with("./") || text.split("..").all(amount)
}

/// JSON quoting, which YAML also reads.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_texts_are_bare() {
        for bare in ["linux", "cargo test", "./a.sh", "15m", "5s..1m", "os=linux", "gpu | tpu"] {
            assert_eq!(scalar(bare, ScalarPosition::Flow), bare);
        }
        for text in ["", "3.10", "1e3", "0x10", "true", "No", "a: b", "a #b", "- a", "[x", "a,b"] {
            assert_eq!(scalar(text, ScalarPosition::Flow), format!("\"{text}\""), "{text}");
        }
        assert_eq!(scalar("a == \"b, c\"", ScalarPosition::Block), "a == \"b, c\"");
        assert_eq!(scalar("a == \"b, c\"", ScalarPosition::Flow), "'a == \"b, c\"'");
        assert_eq!(key_text("on", ScalarPosition::Block), "on");
    }

    #[test]
    fn lines_become_a_block_scalar() {
        let tree = |text: &str| {
            OrderedDocument::Map(vec![("run".into(), OrderedDocument::text(text))]).yaml()
        };
        assert_eq!(tree("a\nb\n"), "run: |\n  a\n  b\n");
        assert_eq!(tree("a\n\nb"), "run: |-\n  a\n\n  b\n");
        assert_eq!(tree("a\n\n\n"), "run: |+\n  a\n\n\n");
        assert_eq!(tree(" a\nb"), "run: \" a\\nb\"\n");
    }
}
