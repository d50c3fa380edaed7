//! Builds a tree from the events of the parser.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, ScanError};

use super::node::{YamlEntry, YamlKey, YamlNode, YamlNodeSize, YamlQuoting, YamlScalar, YamlValue};
use super::syntax_diagnosis::{self, quoted_scalar};
use crate::problem::{Problem, ProblemCode, SourceFile, SuggestedFix};

/// Maximum nodes of a file with expanded aliases: ten for each of 100,000 steps. It limits alias bombs.
const NODES_MAX: usize = 1_000_000;
/// Maximum bytes of text that anchors, aliases and merges add: twice the largest file. A parsed file takes several times
/// the memory of its text, and a controller reads two files at a time.
const COPIED_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Maximum nesting depth; the deepest key of a pipeline is at level seven.
const DEPTH_MAX: usize = 64;

/// Builds the tree of the first document. Problems that do not prevent reading the rest are added to `problems`.
pub(crate) fn build_yaml_tree<'s>(
    source: &'s SourceFile,
    problems: &mut Vec<Problem>,
) -> Result<Option<YamlNode<'s>>, ScanError> {
    let options = granit_parser::options! {
        emit_unresolved_aliases: true,
        flow_nesting_limit: DEPTH_MAX,
        block_nesting_limit: DEPTH_MAX,
    };
    let mut builder = YamlTreeBuilder::new(source, problems);
    for event in Parser::new_from_str_with_options(source.text(), options) {
        let (event, span) = event?;
        let tag = span.tag_span().and_then(|tag| tag.byte_range());
        let span = span.byte_range().expect("text in memory has byte offsets");
        if builder.event(event, span, tag.as_ref()).is_err() {
            return Ok(None);
        }
    }
    Ok(builder.root)
}

/// The file exceeds a limit; the problem is already reported.
struct TreeLimitExceeded;

struct YamlTreeBuilder<'s, 'p> {
    source: &'s SourceFile,
    problems: &'p mut Vec<Problem>,
    stack: Vec<OpenCollection<'s>>,
    anchors: BTreeMap<usize, YamlNode<'s>>,
    documents: usize,
    nodes: usize,
    copied_bytes: usize,
    root: Option<YamlNode<'s>>,
}

/// An unclosed list or map.
struct OpenCollection<'s> {
    start: usize,
    anchor: usize,
    broken: bool,
    inside: OpenContents<'s>,
}

enum OpenContents<'s> {
    List(Vec<YamlNode<'s>>),
    Map(MapEntries<'s>),
}

#[derive(Default)]
struct MapEntries<'s> {
    entries: Vec<YamlEntry<'s>>,
    seen: BTreeMap<Cow<'s, str>, Range<usize>>,
    pending: PendingKey<'s>,
}

/// The key whose value comes next.
#[derive(Default)]
enum PendingKey<'s> {
    #[default]
    None,
    Key(YamlKey<'s>),
    /// A refused key; its value is dropped.
    Refused,
}

impl<'s, 'p> YamlTreeBuilder<'s, 'p> {
    fn new(source: &'s SourceFile, problems: &'p mut Vec<Problem>) -> Self {
        let (stack, anchors) = (Vec::new(), BTreeMap::new());
        Self {
            source,
            problems,
            stack,
            anchors,
            documents: 0,
            nodes: 0,
            copied_bytes: 0,
            root: None,
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the parser has more events than a tree")]
    fn event(
        &mut self,
        event: Event<'s>,
        span: Range<usize>,
        tag: Option<&Range<usize>>,
    ) -> Result<(), TreeLimitExceeded> {
        match event {
            Event::DocumentStart(..) => self.document(&span),
            Event::Alias(id) => self.alias(id, span),
            Event::UnresolvedAlias(name) => self.unresolved(&name, span),
            Event::Scalar(text, style, anchor, _) => {
                let node = self.scalar(text, style, &span);
                self.finish(node, anchor, tag)
            }
            Event::SequenceStart(_, anchor, _) => {
                self.open(&span, anchor, tag, OpenContents::List(Vec::new()));
                Ok(())
            }
            Event::MappingStart(_, anchor, _) => {
                self.open(&span, anchor, tag, OpenContents::Map(MapEntries::default()));
                Ok(())
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(&span),
            _ => Ok(()),
        }
    }

    fn report(&mut self, problem: Problem) {
        Problem::add(self.problems, problem);
    }

    fn document(&mut self, span: &Range<usize>) -> Result<(), TreeLimitExceeded> {
        self.documents += 1;
        if self.documents == 1 {
            return Ok(());
        }
        let problem = Problem::new(
            ProblemCode::TwoDocuments,
            span.clone(),
            "the file contains more than one YAML document",
        );
        self.report(
            problem.label("the second one begins here").help("put each pipeline into its own file"),
        );
        // The next document is another pipeline: reading it as part of this one would report false problems.
        Err(TreeLimitExceeded)
    }

    fn scalar(&self, text: Cow<'s, str>, style: ScalarStyle, span: &Range<usize>) -> YamlNode<'s> {
        let quote = match style {
            ScalarStyle::Plain => YamlQuoting::Plain,
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => YamlQuoting::Quoted,
            ScalarStyle::Literal | ScalarStyle::Folded => YamlQuoting::Block,
        };
        let null = quote == YamlQuoting::Plain
            && (span.is_empty() || matches!(&*text, "~" | "null" | "Null" | "NULL" | ""));
        let value =
            if null { YamlValue::Null } else { YamlValue::Scalar(YamlScalar { text, quote }) };
        YamlNode { span: self.trimmed(span, quote), value }
    }

    /// Trims the span: the parser includes the blank lines after a block.
    fn trimmed(&self, span: &Range<usize>, quote: YamlQuoting) -> Range<usize> {
        let text = &self.source.text()[span.clone()];
        let end = if quote == YamlQuoting::Block { text.trim_end().len() } else { text.len() };
        span.start..span.start + end
    }

    fn open(
        &mut self,
        span: &Range<usize>,
        anchor: usize,
        tag: Option<&Range<usize>>,
        inside: OpenContents<'s>,
    ) {
        if let Some(tag) = tag {
            self.tag(tag);
        }
        let broken = tag.is_some();
        self.stack.push(OpenCollection { start: span.start, anchor, broken, inside });
    }

    fn close(&mut self, span: &Range<usize>) -> Result<(), TreeLimitExceeded> {
        let frame = self.stack.pop().expect("the parser closes what it opened");
        // The parser ends a block where the next node begins, and a flow collection at its bracket.
        let text = self.source.text();
        let end = frame.start + text[frame.start..span.end].trim_end().len();
        let value = match frame.inside {
            _ if frame.broken => YamlValue::Broken,
            OpenContents::List(items) => YamlValue::List(items),
            OpenContents::Map(pairs) => YamlValue::Map(self.merged(pairs)?),
        };
        self.finish(YamlNode { span: frame.start..end, value }, frame.anchor, None)
    }

    fn finish(
        &mut self,
        mut node: YamlNode<'s>,
        anchor: usize,
        tag: Option<&Range<usize>>,
    ) -> Result<(), TreeLimitExceeded> {
        if let Some(tag) = tag {
            self.tag(tag);
            node =
                YamlNode { span: tag.start..node.span.end.max(tag.end), value: YamlValue::Broken };
        }
        self.count(1, &node.span)?;
        if anchor != 0 {
            self.count_copy(node.size(), &node.span)?;
            self.anchors.insert(anchor, node.clone());
        }
        self.place(node);
        Ok(())
    }

    fn place(&mut self, node: YamlNode<'s>) {
        match self.stack.last_mut().map(|frame| &mut frame.inside) {
            None => self.root = Some(node),
            Some(OpenContents::List(items)) => items.push(node),
            Some(OpenContents::Map(pairs)) => match std::mem::take(&mut pairs.pending) {
                PendingKey::Refused => {}
                PendingKey::Key(key) => pairs.entries.push(YamlEntry { key, value: node }),
                PendingKey::None => pairs.pending = pairs.key(self.source, node, self.problems),
            },
        }
    }

    fn alias(&mut self, id: usize, span: Range<usize>) -> Result<(), TreeLimitExceeded> {
        let Some(size) = self.anchors.get(&id).map(YamlNode::size) else {
            let problem = Problem::new(
                ProblemCode::Alias,
                span.clone(),
                "the alias is inside its own anchor",
            );
            self.report(
                problem.help("it would expand without end: write the inner part without the alias"),
            );
            self.place(YamlNode { span, value: YamlValue::Broken });
            return Ok(());
        };
        self.count_copy(size, &span)?;
        let node = self.anchors.get(&id).cloned().expect("its size was taken above");
        self.place(node);
        Ok(())
    }

    fn unresolved(&mut self, name: &str, span: Range<usize>) -> Result<(), TreeLimitExceeded> {
        let line = self.source.line_around(span.start);
        let rest = self.source.text()[span.start..line.end].trim_end();
        let in_text =
            self.key_above().is_some_and(|key| syntax_diagnosis::TEXT_KEYS.contains(&key));
        let problem = if in_text {
            let sign =
                format!("quote a string that begins with `*`: YAML reads `*{name}` as an alias");
            let fix = SuggestedFix::replace(
                self.source,
                &(span.start..span.start + rest.len()),
                &quoted_scalar(rest),
            );
            Problem::new(ProblemCode::SignFirst, span.clone(), sign).fix(fix)
        } else {
            let title = format!("there is no anchor `&{name}` above this alias");
            Problem::new(ProblemCode::Alias, span.clone(), title).help(format!(
                "put `&{name}` before the value that it stands for, or quote the string"
            ))
        };
        self.report(problem);
        self.finish(YamlNode { span, value: YamlValue::Broken }, 0, None)
    }

    fn tag(&mut self, tag: &Range<usize>) {
        let key = self.key_above().unwrap_or_default();
        self.report(syntax_diagnosis::diagnose_tag(self.source, key, tag));
    }

    /// Returns the innermost key above the next node.
    fn key_above(&self) -> Option<&str> {
        self.stack.iter().rev().find_map(|frame| match &frame.inside {
            OpenContents::Map(MapEntries { pending: PendingKey::Key(key), .. }) => Some(&*key.text),
            OpenContents::Map(_) | OpenContents::List(_) => None,
        })
    }

    fn count(&mut self, nodes: usize, span: &Range<usize>) -> Result<(), TreeLimitExceeded> {
        self.nodes += nodes;
        if self.nodes <= NODES_MAX {
            return Ok(());
        }
        let title = format!("the file expands to more than {NODES_MAX} values");
        let problem = Problem::new(ProblemCode::TooLarge, span.clone(), title)
            .label("the limit is exceeded here");
        self.report(problem.help("aliases of aliases multiply: use fewer of them"));
        Err(TreeLimitExceeded)
    }

    /// Counts a copy of a subtree. Must be called before copying.
    fn count_copy(
        &mut self,
        size: YamlNodeSize,
        span: &Range<usize>,
    ) -> Result<(), TreeLimitExceeded> {
        self.count(size.nodes, span)?;
        self.copied_bytes += size.bytes;
        if self.copied_bytes <= COPIED_BYTES_MAX {
            return Ok(());
        }
        let title = format!(
            "the anchors, aliases and merges of the file copy more than {COPIED_BYTES_MAX} bytes of text"
        );
        let problem = Problem::new(ProblemCode::TooLarge, span.clone(), title)
            .label("the limit is exceeded here");
        let help = "put shared text into a file, or use `matrix`";
        self.report(problem.help(help));
        Err(TreeLimitExceeded)
    }

    /// Returns the entries of a map, with those that its merge key (`<<`) adds.
    fn merged(&mut self, pairs: MapEntries<'s>) -> Result<Vec<YamlEntry<'s>>, TreeLimitExceeded> {
        let MapEntries { mut entries, mut seen, .. } = pairs;
        let Some(at) = entries.iter().position(|entry| entry.key.text == "<<") else {
            return Ok(entries);
        };
        let from = entries.remove(at).value;
        for part in from.items_or_self() {
            if !matches!(part.value, YamlValue::Map(_) | YamlValue::Broken) {
                let title = format!("`<<` merges maps, but this is {}", part.kind());
                self.report(Problem::new(ProblemCode::Merge, part.span.clone(), title));
            }
            for entry in part.entries() {
                if !seen.contains_key(&entry.key.text) {
                    seen.insert(entry.key.text.clone(), entry.key.span.clone());
                    self.count_copy(entry.size(), &from.span)?;
                    entries.push(entry.clone());
                }
            }
        }
        Ok(entries)
    }
}

impl<'s> MapEntries<'s> {
    fn key(
        &mut self,
        source: &SourceFile,
        node: YamlNode<'s>,
        problems: &mut Vec<Problem>,
    ) -> PendingKey<'s> {
        let kind = node.kind();
        let YamlNode { span, value } = node;
        let text = match value {
            YamlValue::Scalar(scalar) if !matches!(kind, "a number" | "a boolean") => scalar.text,
            YamlValue::Broken => return PendingKey::Refused,
            YamlValue::Null | YamlValue::Scalar(_) | YamlValue::List(_) | YamlValue::Map(_) => {
                Problem::add(problems, key_not_text(source, &span, kind));
                return PendingKey::Refused;
            }
        };
        if let Some(first) = self.seen.get(&text) {
            let title = format!("duplicate key `{text}`");
            let problem = Problem::new(ProblemCode::DuplicateKey, span, title).label("second");
            let problem = problem.also(first.clone(), "first").help("keep one of them");
            Problem::add(problems, problem);
            return PendingKey::Refused;
        }
        self.seen.insert(text.clone(), span.clone());
        PendingKey::Key(YamlKey { text, span })
    }
}

fn key_not_text(source: &SourceFile, span: &Range<usize>, kind: &str) -> Problem {
    let text = &source.text()[span.clone()];
    let problem = Problem::new(
        ProblemCode::KeyNotText,
        span.clone(),
        format!("a key must be a string, but this is {kind}"),
    );
    match kind {
        "a number" | "a boolean" => {
            problem.fix(SuggestedFix::replace(source, span, &format!("\"{text}\"")))
        }
        _ => problem.help("write `name: value`; quote a key with special characters"),
    }
}
