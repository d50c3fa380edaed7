//! Mistakes that are valid YAML with another meaning.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::problem::{Problem, ProblemCode, SourceFile, SuggestedFix};
use crate::spec::keys::ValueShape;
use crate::spec::names::is_name;
use crate::spec::yaml::{YamlEntry, YamlNode, YamlQuoting, YamlValue, quoted_scalar};

/// Reports `run: x #y`: YAML reads ` #` as a comment; an intended comment begins with `# `.
pub(super) fn hash_in_command(
    source: &SourceFile,
    node: &YamlNode<'_>,
    shape: ValueShape,
) -> Option<Problem> {
    let scalar = node.as_scalar()?;
    if scalar.quote != YamlQuoting::Plain || !matches!(shape, ValueShape::Script | ValueShape::Text)
    {
        return None;
    }
    let line = source.line_around(node.span.end);
    let rest = source.text().get(node.span.end..line.end)?;
    let comment = rest.trim_start().strip_prefix('#')?;
    if comment.is_empty() || comment.starts_with([' ', '#', '\t']) {
        return None;
    }
    let hash = node.span.end + rest.len() - rest.trim_start().len();
    let whole = node.span.start..line.end;
    let text = source.text()[whole.clone()].trim_end();
    Some(
        Problem::new(ProblemCode::HashInCommand, hash..line.end, "` #` begins a comment")
            .label("this is not part of the value")
            .help("quote the string; for a comment, write a space after `#`")
            .fix(SuggestedFix::replace(source, &whole, &quoted_scalar(text))),
    )
}

/// Reports `{{ params.x }}` and `${params.x}`: only windlass has these names, and it reads only `${{ }}`.
pub(super) fn lone_braces(
    source: &SourceFile,
    node: &YamlNode<'_>,
    shape: ValueShape,
) -> Vec<Problem> {
    let text = node.as_text().filter(|_| matches!(shape, ValueShape::Script | ValueShape::Text));
    let text = text.unwrap_or_default();
    let found = [("{{", "}}"), ("${", "}")].into_iter().flat_map(|(open, close)| {
        let places = text.match_indices(open).map(|(at, _)| at);
        places.filter_map(move |at| lone_brace(text, at, (open, close)))
    });
    let problem = |(range, path): (Range<usize>, &str)| {
        let span = node.locate(source.text(), &range);
        let right = format!("${{{{ {path} }}}}");
        let title = format!("`{}` is not replaced by a value", &text[range.clone()]);
        let exact = source.text().get(span.clone()) == Some(&text[range]);
        let fix = exact.then(|| SuggestedFix::replace(source, &span, &right)).flatten();
        let problem = Problem::new(ProblemCode::LoneBraces, span, title)
            .label("stays unchanged in the string");
        problem.help(format!("write `{right}`")).fix(fix)
    };
    found.map(problem).collect()
}

/// Returns the braces and the path between them, if it is a path of windlass.
fn lone_brace<'t>(
    text: &'t str,
    at: usize,
    (open, close): (&str, &str),
) -> Option<(Range<usize>, &'t str)> {
    let inside = &text[at + open.len()..];
    let length = inside.find(close)?;
    let path = inside[..length].trim();
    let known = ROOTS.iter().any(|root| path.starts_with(root));
    let word = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let alone = !text[..at].ends_with('$') && path.chars().all(word);
    (known && alone).then(|| (at..at + open.len() + length + close.len(), path))
}

/// Prefixes of the paths between braces.
const ROOTS: &[&str] = &["params.", "matrix.", "steps.", "run."];

/// Reports `needs: a, b`: a string with a comma in place of a list.
pub(super) fn comma_list(
    source: &SourceFile,
    node: &YamlNode<'_>,
    item: ValueShape,
    key: &str,
) -> Option<Problem> {
    let scalar = node.as_scalar().filter(|scalar| scalar.quote != YamlQuoting::Block)?;
    let listed = matches!(
        item,
        ValueShape::Name | ValueShape::Requirement | ValueShape::ShortOrObject(ValueShape::Name, _)
    );
    let text = &*scalar.text;
    if !listed || !text.contains(',') || text.contains("${{") {
        return None;
    }
    let parts: Vec<&str> = text.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
    let written: Vec<String> = parts.iter().map(|part| flow_list_item(part)).collect();
    Some(
        Problem::new(
            ProblemCode::CommaList,
            node.span.clone(),
            format!("`{key}` is one string with a comma, not a list"),
        )
        .label("YAML reads a list only in brackets")
        .fix(SuggestedFix::replace(
            source,
            &node.span,
            &format!("[{}]", written.join(", ")),
        )),
    )
}

/// Reports `{ run: echo hi, there }` and returns the indices of entries that belong to the value before them.
pub(super) fn swallowed_entries(
    source: &SourceFile,
    entries: &[YamlEntry<'_>],
    problems: &mut Vec<Problem>,
) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let lone = |entry: &YamlEntry<'_>| {
        let null = matches!(entry.value.value, YamlValue::Null) && entry.value.span.is_empty();
        null && !source.text()[entry.key.span.end..].trim_start().starts_with(':')
    };
    for at in 1..entries.len() {
        let before = &entries[at - 1].value;
        let plain = before.as_scalar().is_some_and(|scalar| scalar.quote == YamlQuoting::Plain);
        if found.contains(&at)
            || !plain
            || !lone(&entries[at])
            || !comma_between(source, before, &entries[at])
        {
            continue;
        }
        let rest = entries[at..].iter().take_while(|entry| lone(entry)).count();
        found.extend(at..at + rest);
        let whole = before.span.start..entries[at + rest - 1].key.span.end;
        let text = &source.text()[whole.clone()];
        let key = &entries[at].key;
        let problem = Problem::new(
            ProblemCode::CommaInBraces,
            key.span.clone(),
            "a comma between braces ends the value",
        )
        .label(format!("YAML reads `{}` as another key", key.text));
        Problem::add(
            problems,
            problem.fix(SuggestedFix::replace(source, &whole, &quoted_scalar(text))),
        );
    }
    found
}

fn comma_between(source: &SourceFile, before: &YamlNode<'_>, after: &YamlEntry<'_>) -> bool {
    let between = source.text().get(before.span.end..after.key.span.start);
    between.is_some_and(|text| text.trim() == ",")
}

/// Formats the string as an item of a `[…]` list.
fn flow_list_item(text: &str) -> String {
    let safe = text.chars().all(|c| c.is_alphanumeric() || " _-./=<>".contains(c));
    if is_name(text) || (safe && !text.is_empty()) { text.to_owned() } else { quoted_scalar(text) }
}
