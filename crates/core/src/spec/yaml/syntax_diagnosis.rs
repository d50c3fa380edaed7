//! The slips that YAML invites: what the parser says of them helps nobody, so the line is looked at once more.

use std::ops::Range;

use granit_parser::{ErrorKind, ScanError};

use crate::problem::{Problem, ProblemCode, SourceFile, SuggestedFix};

/// Keys whose value is free text, where a sign at the beginning is meant as it stands.
pub(super) const TEXT_KEYS: &[&str] = &["run", "if", "about", "dir", "shell", "name"];

/// What a YAML error most likely is.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the parser knows far more errors than people make"
)]
pub(super) fn diagnose_syntax_error(source: &SourceFile, error: &ScanError) -> Problem {
    let at = error.marker().byte_offset().unwrap_or_default().min(source.text().len());
    let line = KeyValueLine::around(source, at);
    let found = match error.kind() {
        ErrorKind::MappingValueNotAllowed => colon(&line, at),
        ErrorKind::ExpectedBlockMappingKey | ErrorKind::InvalidDocumentEnd => bracket(&line, at),
        ErrorKind::InvalidTrailingDoubleQuotedScalar
        | ErrorKind::InvalidTrailingSingleQuotedScalar => quote(&line),
        ErrorKind::UnexpectedCharacter { .. }
        | ErrorKind::InvalidBlockScalarHeader
        | ErrorKind::MissingAnchorOrAliasName => sign(&line, at),
        ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabNotAllowed => tab(&line),
        // Noticed in the text that the line with the tab would go on with.
        ErrorKind::TabInPlainScalar => tab(&line).or_else(|| {
            tab(&KeyValueLine::around(source, (line.span.end + 1).min(source.text().len())))
        }),
        ErrorKind::RecursionLimitExceeded => Some(too_deep(at)),
        _ => None,
    };
    found.or_else(|| braces(&line, at)).unwrap_or_else(|| other_syntax_error(source, error, at))
}

/// A tag: `!` was meant as "not" or as part of a text.
pub(super) fn diagnose_tag(source: &SourceFile, key: &str, tag: &Range<usize>) -> Problem {
    let text = &source.text()[tag.clone()];
    let word = text.trim_start_matches('!');
    let not = match (key, word) {
        (_, "") => "not".to_owned(),
        ("if", "failure()") => "success()".to_owned(),
        ("if", "success()") => "failure()".to_owned(),
        _ => format!("not {word}"),
    };
    match key {
        "if" => {
            let title = format!("`{text}` is written `{not}` in a condition");
            Problem::new(ProblemCode::BangInIf, tag.clone(), title)
                .label("YAML reads this as a tag, not as a text")
                .fix(SuggestedFix::replace(source, tag, &not))
        }
        "requires" => {
            let title = format!("`{text}` is written `{not}` in a requirement");
            Problem::new(ProblemCode::BangInRequires, tag.clone(), title)
                .label("YAML reads this as a tag, not as a text")
                .fix(SuggestedFix::replace(source, tag, &not))
        }
        _ => {
            let title = format!("`{text}` is a YAML tag, and tags mean nothing here");
            Problem::new(ProblemCode::Tag, tag.clone(), title).fix(without_tag(source, tag))
        }
    }
}

/// The line without the tag, or with it as part of a quoted text: `! grep x` is a command, `!!str 3` a text.
fn without_tag(source: &SourceFile, tag: &Range<usize>) -> Option<SuggestedFix> {
    let text = source.text();
    let line = source.line_around(tag.start);
    let rest = text[tag.end..line.end].trim();
    let whole = tag.start..line.end;
    if rest.starts_with(['{', '[', '|', '>']) {
        SuggestedFix::replace(source, &whole, rest)
    } else if text[tag.clone()].starts_with("!!") || rest.is_empty() {
        SuggestedFix::replace(source, &whole, &quoted_scalar(rest))
    } else {
        SuggestedFix::replace(source, &whole, &quoted_scalar(text[whole.clone()].trim_end()))
    }
}

/// The text as one YAML scalar.
pub(crate) fn quoted_scalar(text: &str) -> String {
    if !text.contains('\'') {
        format!("'{text}'")
    } else if !text.contains(['"', '\\']) {
        format!("\"{text}\"")
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}

/// A line of the form `key: value`, as far as it is one.
struct KeyValueLine<'a> {
    source: &'a SourceFile,
    span: Range<usize>,
    /// The key, if the line has one.
    key: &'a str,
    /// The bytes of the value, without a comment behind it.
    value: Range<usize>,
}

impl<'a> KeyValueLine<'a> {
    fn around(source: &'a SourceFile, at: usize) -> Self {
        let span = source.line_around(at);
        let text = &source.text()[span.clone()];
        let indent = text.len() - text.trim_start_matches([' ', '-']).len();
        let (key, value) = match text[indent..].find(": ") {
            Some(colon) => (&text[indent..indent + colon], indent + colon + 2),
            None => ("", text.len()),
        };
        let value = value + text[value..].len() - text[value..].trim_start().len();
        let end = text[value..].find(" #").map_or(text.len(), |hash| value + hash);
        let end = value + text[value..end].trim_end().len();
        let key_is_word = key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
        let key = if key_is_word { key } else { "" };
        Self { source, value: span.start + value..span.start + end, key, span }
    }

    fn value_text(&self) -> &'a str {
        &self.source.text()[self.value.clone()]
    }

    /// Whether the value is there, and the place is behind its beginning.
    fn holds(&self, at: usize) -> bool {
        !self.key.is_empty() && self.value.start < at && at <= self.span.end
    }

    /// The line with its value quoted.
    fn with_quotes(&self) -> Option<SuggestedFix> {
        SuggestedFix::replace(self.source, &self.value, &quoted_scalar(self.value_text()))
    }
}

/// `run: echo a: b`
fn colon(line: &KeyValueLine<'_>, at: usize) -> Option<Problem> {
    let inside = line.holds(at) && !line.value_text().starts_with(['{', '[', '"', '\'']);
    let key = line.key;
    inside.then(|| {
        Problem::new(ProblemCode::ColonInCommand, at..at + 1, "`: ` in a text that is not quoted")
            .label(format!("YAML takes what is before it for another key inside `{key}`"))
            .help("quote the text, or put it on the next line behind `|`")
            .fix(line.with_quotes())
    })
}

/// `run: [ -f x ] && y`
fn bracket(line: &KeyValueLine<'_>, at: usize) -> Option<Problem> {
    let first = line.value_text().chars().next().filter(|c| matches!(c, '[' | '{'))?;
    let kind = if first == '[' { "list" } else { "map" };
    let opening = line.value.start..line.value.start + 1;
    line.holds(at).then(|| {
        Problem::new(
            ProblemCode::BracketFirst,
            opening,
            format!("a text that begins with `{first}` must be quoted"),
        )
        .label(format!("YAML reads a {kind} from here"))
        .also(at..at + 1, format!("and does not expect this behind the {kind}"))
        .fix(line.with_quotes())
    })
}

/// `run: "a" && b`
fn quote(line: &KeyValueLine<'_>) -> Option<Problem> {
    let value = line.value_text();
    let first = value.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let inner = value.get(1..value.len() - 1).unwrap_or("");
    // `'it's'`: the quotes are around the whole, and one inside ended it.
    let whole = first == '\'' && value.ends_with('\'') && inner.matches('\'').count() == 1;
    let with =
        if whole { format!("'{}'", inner.replace('\'', "''")) } else { quoted_scalar(value) };
    let title = if whole {
        "a single quote inside single quotes is written twice".to_owned()
    } else {
        format!("a text that goes on behind its `{first}` must be quoted as a whole")
    };
    let opening = line.value.start..line.value.start + 1;
    (!line.key.is_empty()).then(|| {
        Problem::new(ProblemCode::QuoteFirst, opening, title)
            .label("for YAML the text ends with the next quote")
            .fix(SuggestedFix::replace(line.source, &line.value, &with))
    })
}

/// `run: @x`, `run: > out`, `run: & x`
fn sign(line: &KeyValueLine<'_>, at: usize) -> Option<Problem> {
    let first = line.value_text().chars().next().filter(|_| at == line.value.start)?;
    (!line.key.is_empty() && !first.is_control()).then(|| {
        let title = format!("a text that begins with `{first}` must be quoted");
        Problem::new(ProblemCode::SignFirst, at..at + first.len_utf8(), title)
            .label("this sign has a meaning of its own in YAML")
            .fix(line.with_quotes())
    })
}

/// `env: { A: ${{ x }} }`
fn braces(line: &KeyValueLine<'_>, at: usize) -> Option<Problem> {
    let text = line.source.text();
    let until = text.floor_char_boundary((at + 2).min(line.span.end));
    let open = line.span.start + text.get(line.span.start..until)?.rfind("${")?;
    if !text[open..].starts_with("${{") {
        return None;
    }
    let close = open + text[open..line.span.end].find("}}")? + 2;
    let behind = text[close..line.span.end].find([',', '}', ']']).unwrap_or(line.span.end - close);
    let end = close + text[close..close + behind].trim_end().len();
    let before =
        text[line.span.start..open].rfind(['{', '[', ',']).map(|b| line.span.start + b + 1);
    let colon = text[line.span.start..open].rfind(": ").map(|c| line.span.start + c + 2);
    let start = before.max(colon)?;
    let start = start + text[start..open].len() - text[start..open].trim_start().len();
    let value = &text[start..end];
    let value =
        if value.contains(['"', '\\']) { quoted_scalar(value) } else { format!("\"{value}\"") };
    Some(
        Problem::new(
            ProblemCode::BracesUnquoted,
            start..end,
            "`${{ }}` between braces or brackets must be quoted",
        )
        .label("YAML takes these braces for maps")
        .fix(SuggestedFix::replace(line.source, &(start..end), &value)),
    )
}

fn tab(line: &KeyValueLine<'_>) -> Option<Problem> {
    let text = &line.source.text()[line.span.clone()];
    let indent = text.len() - text.trim_start().len();
    let tabs = line.span.start..line.span.start + indent;
    text[..indent].contains('\t').then(|| {
        // As deep as the line above, or one deeper if that one opens something.
        let above = line.source.text()[..line.span.start].trim_end();
        let above = &above[above.rfind('\n').map_or(0, |at| at + 1)..];
        let depth =
            above.len() - above.trim_start().len() + if above.ends_with(':') { 2 } else { 0 };
        let blanks = " ".repeat(depth);
        Problem::new(
            ProblemCode::TabIndent,
            tabs.clone(),
            "YAML is indented with blanks, and this is a tab",
        )
        .fix(SuggestedFix::replace(line.source, &tabs, &blanks))
    })
}

fn too_deep(at: usize) -> Problem {
    Problem::new(ProblemCode::TooLarge, at..at + 1, "maps and lists are nested too deeply")
        .help("a pipeline needs seven levels; 64 are read")
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the parser knows far more errors than people make"
)]
fn other_syntax_error(source: &SourceFile, error: &ScanError, at: usize) -> Problem {
    let end = source.text()[at..].chars().next().map_or(at, |c| at + c.len_utf8());
    let (title, help) = match error.kind() {
        ErrorKind::InvalidQuotedScalarIndent | ErrorKind::UnclosedQuotedScalar => {
            return open_quote(source, at);
        }
        ErrorKind::SimpleKeyExpected => {
            ("a key without `:`", "write `key: value`, or indent it as part of the value above")
        }
        ErrorKind::UnclosedFlowCollection { .. }
        | ErrorKind::InvalidColonPlacement
        | ErrorKind::ExpectedFlowMappingSeparator
        | ErrorKind::ExpectedFlowSequenceSeparator => return open_bracket(source, at..end),
        ErrorKind::MappingValueNotAllowed
        | ErrorKind::ExpectedBlockMappingKey
        | ErrorKind::InvalidIndentation => (
            "the indentation does not fit the lines above",
            "keys of one map begin in the same column",
        ),
        ErrorKind::BlockSequenceEntryNotAllowed | ErrorKind::ExpectedBlockSequenceEntry => (
            "a list item does not fit here",
            "put `- item` on lines of its own below the key, or write `[a, b]`",
        ),
        ErrorKind::UnexpectedCharacter { character } if character.is_control() => (
            "a control character that YAML does not allow",
            "remove it; in double quotes it can be written as `\\x..`",
        ),
        kind => {
            return Problem::new(ProblemCode::Syntax, at..end, format!("this is no YAML: {kind}"));
        }
    };
    Problem::new(ProblemCode::Syntax, at..end, title).help(help)
}

/// A quote that is not closed is noticed where the text ends that it swallowed; it is told where it was opened.
fn open_quote(source: &SourceFile, at: usize) -> Problem {
    let mut place = at;
    let opened = loop {
        let line = KeyValueLine::around(source, place);
        if !line.key.is_empty() && line.value_text().starts_with(['"', '\'']) {
            break line.value.start..line.value.start + 1;
        }
        // A byte order mark is no part of its line: the line above ends at a line break.
        let Some(above) = source.text()[..line.span.start].rfind('\n') else { break at..at };
        place = above;
    };
    Problem::new(ProblemCode::Syntax, opened, "a quote is opened and not closed")
        .label("its pair is missing")
        .help("a quote inside a text is doubled between single quotes, and written `\\\"` between double ones")
}

fn open_bracket(source: &SourceFile, noticed: Range<usize>) -> Problem {
    let mut closed = 0_usize;
    let before = source.text()[..noticed.start].char_indices().rev();
    let mut opened = before.filter(|(_, c)| match c {
        ']' | '}' => {
            closed += 1;
            false
        }
        '[' | '{' if closed > 0 => {
            closed -= 1;
            false
        }
        '[' | '{' => true,
        _ => false,
    });
    let help = "each `[` needs its `]`, each `{` its `}`, with commas between";
    let problem = |span| {
        Problem::new(ProblemCode::Syntax, span, "a bracket or brace is not closed").help(help)
    };
    match opened.next() {
        Some((at, _)) => problem(at..at + 1)
            .label("opened here")
            .also(noticed, "and this does not belong into it"),
        None => problem(noticed),
    }
}
