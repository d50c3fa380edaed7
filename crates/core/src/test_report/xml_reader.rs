//! Reads the subset of XML in which test reports are written: elements, attributes, text, CDATA, comments.
//!
//! A document type declaration is skipped, so there are no entities but the five predefined ones and character references:
//! nothing expands, and nothing is fetched. Any other `&name;` remains as it is written. The time is linear in the size of
//! the document, and the depth of elements has a limit.

/// Maximum depth of elements. Reports nest suites a few levels deep.
const DEPTH_MAX: usize = 64;

/// Maximum bytes between `&` and `;`: the largest character reference is `#x10FFFF`, and some writers add zeros.
const REFERENCE_MAX: usize = 12;

/// The reason why a document cannot be read, with the number of the line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum XmlProblem {
    /// There is text outside elements.
    #[error("line {0} is not XML")]
    NotXml(usize),
    /// A tag, comment or section has no end.
    #[error("it ends within the markup that begins in line {0}")]
    Unclosed(usize),
    /// An element has no end.
    #[error("it ends within `<{0}>`")]
    Unended(String),
    /// An end tag does not belong to the innermost open element.
    #[error("line {0} has an end tag without its beginning")]
    Unbalanced(usize),
    /// Elements are nested too deeply.
    #[error("line {0} has more than {DEPTH_MAX} nested elements")]
    TooDeep(usize),
}

/// A part of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum XmlEvent<'a> {
    Start(XmlTag<'a>),
    /// The innermost open element ends.
    End,
    /// Text with references.
    Text(&'a str),
    /// Text as it is.
    Cdata(&'a str),
}

/// The start of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct XmlTag<'a> {
    pub(super) name: &'a str,
    /// Its attributes as they are written.
    attributes: &'a str,
}

/// Reads a document from its beginning to its end.
#[derive(Debug)]
pub(super) struct XmlReader<'a> {
    text: &'a str,
    at: usize,
    open: Vec<&'a str>,
    /// Whether the last tag was `<name/>`, whose end comes next.
    is_empty_element: bool,
}

impl<'a> XmlReader<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text, at: 0, open: Vec::new(), is_empty_element: false }
    }

    /// Returns the next part, or `None` at the end of a complete document.
    pub(super) fn next_event(&mut self) -> Result<Option<XmlEvent<'a>>, XmlProblem> {
        if std::mem::take(&mut self.is_empty_element) {
            self.open.pop();
            return Ok(Some(XmlEvent::End));
        }
        while self.at < self.text.len() {
            let rest = &self.text[self.at..];
            if !rest.starts_with('<') {
                let text = &rest[..rest.find('<').unwrap_or(rest.len())];
                if !self.open.is_empty() {
                    self.at += text.len();
                    return Ok(Some(XmlEvent::Text(text)));
                }
                self.at += text.len() - text.trim_start().len();
                if !text.trim_start().is_empty() {
                    return Err(XmlProblem::NotXml(self.line()));
                }
            } else if let Some(event) = self.markup(rest)? {
                return Ok(Some(event));
            }
        }
        match self.open.last() {
            Some(name) => Err(XmlProblem::Unended(name.chars().take(REFERENCE_MAX * 4).collect())),
            None => Ok(None),
        }
    }

    /// Reads what begins with `<`. Comments and declarations are skipped.
    fn markup(&mut self, rest: &'a str) -> Result<Option<XmlEvent<'a>>, XmlProblem> {
        if rest.starts_with("<!--") {
            self.section(rest, "<!--", "-->").map(|_| None)
        } else if rest.starts_with("<?") {
            self.section(rest, "<?", "?>").map(|_| None)
        } else if rest.starts_with("<![CDATA[") {
            let text = self.section(rest, "<![CDATA[", "]]>")?;
            Ok((!self.open.is_empty()).then_some(XmlEvent::Cdata(text)))
        } else if rest.starts_with("<!") {
            // A declaration of entities is in brackets.
            let end = if declares_entities(rest) { "]>" } else { ">" };
            self.section(rest, "<!", end).map(|_| None)
        } else if rest.starts_with("</") {
            self.end_tag(rest).map(Some)
        } else {
            self.start_tag(rest).map(Some)
        }
    }

    /// Passes over a section and returns the text between its beginning and its end.
    fn section(&mut self, rest: &'a str, begin: &str, end: &str) -> Result<&'a str, XmlProblem> {
        let inside = &rest[begin.len()..];
        let length = inside.find(end).ok_or_else(|| XmlProblem::Unclosed(self.line()))?;
        self.at += begin.len() + length + end.len();
        Ok(&inside[..length])
    }

    fn end_tag(&mut self, rest: &'a str) -> Result<XmlEvent<'a>, XmlProblem> {
        let name = self.section(rest, "</", ">")?.trim_end();
        if self.open.last() != Some(&name) {
            return Err(XmlProblem::Unbalanced(self.line()));
        }
        self.open.pop();
        Ok(XmlEvent::End)
    }

    fn start_tag(&mut self, rest: &'a str) -> Result<XmlEvent<'a>, XmlProblem> {
        let length = tag_length(rest).ok_or_else(|| XmlProblem::Unclosed(self.line()))?;
        let inside = &rest[1..length - 1];
        let (inside, is_empty) = match inside.strip_suffix('/') {
            Some(inside) => (inside, true),
            None => (inside, false),
        };
        let name = &inside[..inside.find(char::is_whitespace).unwrap_or(inside.len())];
        if name.is_empty() {
            return Err(XmlProblem::NotXml(self.line()));
        }
        if self.open.len() == DEPTH_MAX {
            return Err(XmlProblem::TooDeep(self.line()));
        }
        self.at += length;
        self.open.push(name);
        self.is_empty_element = is_empty;
        Ok(XmlEvent::Start(XmlTag { name, attributes: &inside[name.len()..] }))
    }

    /// The number of the line, from 1. It is counted for an error only.
    fn line(&self) -> usize {
        self.text[..self.at].matches('\n').count() + 1
    }
}

impl XmlTag<'_> {
    /// Returns the value of an attribute, with its references replaced.
    pub(super) fn attribute(&self, wanted: &str) -> Option<String> {
        let mut rest = self.attributes;
        loop {
            let (name, after) = rest.split_once('=')?;
            let after = after.trim_start();
            let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
            let (value, next) = after[1..].split_once(quote)?;
            if name.trim() == wanted {
                let mut text = String::new();
                push_unescaped(&mut text, value);
                return Some(text);
            }
            rest = next;
        }
    }
}

/// Whether a document type declaration has a part in brackets.
fn declares_entities(rest: &str) -> bool {
    rest.find(['[', '>']).is_some_and(|at| rest.as_bytes()[at] == b'[')
}

/// The length of a tag with its brackets. A `>` in the value of an attribute does not end it.
fn tag_length(rest: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in rest.bytes().enumerate().skip(1) {
        match (quote, byte) {
            (None, b'>') => return Some(at + 1),
            (None, b'<') => return None,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            (None | Some(_), _) => {}
        }
    }
    None
}

/// Adds a text, with its references replaced.
pub(super) fn push_unescaped(into: &mut String, text: &str) {
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        into.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.bytes().take(REFERENCE_MAX).position(|byte| byte == b';');
        if let Some((end, c)) = end.and_then(|end| Some((end, referenced(&rest[1..end])?))) {
            into.push(c);
            rest = &rest[end + 1..];
        } else {
            into.push('&');
            rest = &rest[1..];
        }
    }
    into.push_str(rest);
}

/// The character that a reference stands for. One that XML does not allow becomes U+FFFD.
fn referenced(name: &str) -> Option<char> {
    let number = match name {
        "lt" => return Some('<'),
        "gt" => return Some('>'),
        "amp" => return Some('&'),
        "quot" => return Some('"'),
        "apos" => return Some('\''),
        name => name.strip_prefix('#')?,
    };
    let code = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => number.parse(),
    };
    let c = code.ok().and_then(char::from_u32).filter(|c| *c != '\0');
    Some(c.unwrap_or(char::REPLACEMENT_CHARACTER))
}
