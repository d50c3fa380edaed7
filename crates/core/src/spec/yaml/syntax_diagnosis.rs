//! Diagnoses common YAML mistakes from the line, because the parser's errors do not explain them.

use std::ops::Range;

use granit_parser::{ErrorKind, ScanError};

use crate::problem::{Problem, ProblemCode, SourceFile, SuggestedFix};

/// Keys with free text, where a special character at the beginning is meant literally.
pub(super) const TEXT_KEYS: &[&str] = &["run", "if", "about", "dir", "shell", "name"];

/// Finds the most likely cause of a YAML error.
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
        // The parser reports it in the string that the line with the tab would continue.
        ErrorKind::TabInPlainScalar => tab(&line).or_else(|| {
            tab(&KeyValueLine::around(source, (line.span.end + 1).min(source.text().len())))
        }),
        ErrorKind::RecursionLimitExceeded => Some(too_deep(at)),
        _ => None,
    };
    found.or_else(|| braces(&line, at)).unwrap_or_else(|| other_syntax_error(source, error, at))
}

/// Reports a tag: `!` was meant as "not" or as part of a string.
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
            let title = format!("write `{not}` for `{text}` in a condition");
            Problem::new(ProblemCode::BangInIf, tag.clone(), title)
                .label("YAML reads this as a tag, not as a string")
                .fix(SuggestedFix::replace(source, tag, &not))
        }
        "requires" => {
            let title = format!("write `{not}` for `{text}` in a requirement");
            Problem::new(ProblemCode::BangInRequires, tag.clone(), title)
                .label("YAML reads this as a tag, not as a string")
                .fix(SuggestedFix::replace(source, tag, &not))
        }
        _ => {
            let title = format!("`{text}` is a YAML tag, and a pipeline has no tags");
            Problem::new(ProblemCode::Tag, tag.clone(), title).fix(without_tag(source, tag))
        }
    }
}

/// Removes the tag, or quotes it as part of the string: `! grep x` is a command, `!!str 3` a string.
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

/// Quotes the string as a YAML scalar.
pub(crate) fn quoted_scalar(text: &str) -> String {
    if !text.contains('\'') {
        format!("'{text}'")
    } else if !text.contains(['"', '\\']) {
        format!("\"{text}\"")
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}

/// A line that may have the form `key: value`.
struct KeyValueLine<'a> {
    source: &'a SourceFile,
    span: Range<usize>,
    /// The key, if the line has one.
    key: &'a str,
    /// The bytes of the value, without a trailing comment.
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

    /// Whether the line has a value and the position is after its beginning.
    fn holds(&self, at: usize) -> bool {
        !self.key.is_empty() && self.value.start < at && at <= self.span.end
    }

    /// Returns the line with its value quoted.
    fn with_quotes(&self) -> Option<SuggestedFix> {
        SuggestedFix::replace(self.source, &self.value, &quoted_scalar(self.value_text()))
    }
}

/// `run: echo a: b`
fn colon(line: &KeyValueLine<'_>, at: usize) -> Option<Problem> {
    let inside = line.holds(at) && !line.value_text().starts_with(['{', '[', '"', '\'']);
    let key = line.key;
    inside.then(|| {
        Problem::new(ProblemCode::ColonInCommand, at..at + 1, "`: ` in an unquoted string")
            .label(format!("YAML reads the part before it as another key inside `{key}`"))
            .help("quote the string, or put it on the next line after `|`")
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
            format!("quote a string that begins with `{first}`"),
        )
        .label(format!("YAML reads a {kind} from here"))
        .also(at..at + 1, format!("and does not expect this after the {kind}"))
        .fix(line.with_quotes())
    })
}

/// `run: "a" && b`
fn quote(line: &KeyValueLine<'_>) -> Option<Problem> {
    let value = line.value_text();
    let first = value.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let inner = value.get(1..value.len() - 1).unwrap_or("");
    // `'it's'`: the quotes surround the whole value, and one inside ended it.
    let whole = first == '\'' && value.ends_with('\'') && inner.matches('\'').count() == 1;
    let with =
        if whole { format!("'{}'", inner.replace('\'', "''")) } else { quoted_scalar(value) };
    let title = if whole {
        "write a single quote inside single quotes twice".to_owned()
    } else {
        format!("quote the whole string: it continues after its closing `{first}`")
    };
    let opening = line.value.start..line.value.start + 1;
    (!line.key.is_empty()).then(|| {
        Problem::new(ProblemCode::QuoteFirst, opening, title)
            .label("YAML ends the string at the next quote")
            .fix(SuggestedFix::replace(line.source, &line.value, &with))
    })
}

/// `run: @x`, `run: > out`, `run: & x`
fn sign(line: &KeyValueLine<'_>, at: usize) -> Option<Problem> {
    let first = line.value_text().chars().next().filter(|_| at == line.value.start)?;
    (!line.key.is_empty() && !first.is_control()).then(|| {
        let title = format!("quote a string that begins with `{first}`");
        Problem::new(ProblemCode::SignFirst, at..at + first.len_utf8(), title)
            .label("this character is special in YAML")
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
            "quote `${{ }}` between braces or brackets",
        )
        .label("YAML reads these braces as maps")
        .fix(SuggestedFix::replace(line.source, &(start..end), &value)),
    )
}

fn tab(line: &KeyValueLine<'_>) -> Option<Problem> {
    let text = &line.source.text()[line.span.clone()];
    let indent = text.len() - text.trim_start().len();
    let tabs = line.span.start..line.span.start + indent;
    text[..indent].contains('\t').then(|| {
        // The depth of the line above, or one level more if that line ends with a colon.
        let above = line.source.text()[..line.span.start].trim_end();
        let above = &above[above.rfind('\n').map_or(0, |at| at + 1)..];
        let depth =
            above.len() - above.trim_start().len() + if above.ends_with(':') { 2 } else { 0 };
        let blanks = " ".repeat(depth);
        Problem::new(
            ProblemCode::TabIndent,
            tabs.clone(),
            "YAML is indented with spaces, but this is a tab",
        )
        .fix(SuggestedFix::replace(line.source, &tabs, &blanks))
    })
}

fn too_deep(at: usize) -> Problem {
    Problem::new(ProblemCode::TooLarge, at..at + 1, "maps and lists are nested too deeply")
        .help("a pipeline needs seven levels; at most 64 are allowed")
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
        ErrorKind::SimpleKeyExpected => (
            "missing `:` after a key",
            "write `key: value`, or indent it as part of the value above",
        ),
        ErrorKind::UnclosedFlowCollection { .. }
        | ErrorKind::InvalidColonPlacement
        | ErrorKind::ExpectedFlowMappingSeparator
        | ErrorKind::ExpectedFlowSequenceSeparator => return open_bracket(source, at..end),
        ErrorKind::MappingValueNotAllowed
        | ErrorKind::ExpectedBlockMappingKey
        | ErrorKind::InvalidIndentation => (
            "the indentation does not match the lines above",
            "all keys of a map begin in the same column",
        ),
        ErrorKind::BlockSequenceEntryNotAllowed | ErrorKind::ExpectedBlockSequenceEntry => (
            "a list item is not allowed here",
            "put each `- item` on its own line below the key, or write `[a, b]`",
        ),
        ErrorKind::UnexpectedCharacter { character } if character.is_control() => (
            "YAML does not allow this control character",
            "remove it, or write it as `\\x..` in double quotes",
        ),
        kind => {
            return Problem::new(ProblemCode::Syntax, at..end, format!("invalid YAML: {kind}"));
        }
    };
    Problem::new(ProblemCode::Syntax, at..end, title).help(help)
}

/// Reports an unclosed quote where it was opened; the parser reports the end of the swallowed text.
fn open_quote(source: &SourceFile, at: usize) -> Problem {
    let mut place = at;
    let opened = loop {
        let line = KeyValueLine::around(source, place);
        if !line.key.is_empty() && line.value_text().starts_with(['"', '\'']) {
            break line.value.start..line.value.start + 1;
        }
        // A byte order mark is not part of its line, so the line above ends at a line break.
        let Some(above) = source.text()[..line.span.start].rfind('\n') else { break at..at };
        place = above;
    };
    Problem::new(ProblemCode::Syntax, opened, "unclosed quote")
        .label("opened here")
        .help("write a quote inside a string twice in single quotes, or as `\\\"` in double quotes")
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
    let help = "close each `[` with `]` and each `{` with `}`, and separate items with commas";
    let problem =
        |span| Problem::new(ProblemCode::Syntax, span, "unclosed bracket or brace").help(help);
    match opened.next() {
        Some((at, _)) => {
            problem(at..at + 1).label("opened here").also(noticed, "and this is not allowed inside")
        }
        None => problem(noticed),
    }
}
