//! Slips that are legal YAML and mean something else than was meant.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::problem::{Code, Fix, Problem, Source};
use crate::spec::keys::Shape;
use crate::spec::names::is_name;
use crate::spec::tree::{Entry, Node, Quote, Value, quoted};

/// `run: x #y`: what follows ` #` is a comment, and a comment begins with `# `.
pub(super) fn hash(source: &Source, node: &Node<'_>, shape: Shape) -> Option<Problem> {
    let scalar = node.as_scalar()?;
    if scalar.quote != Quote::Plain || !matches!(shape, Shape::Script | Shape::Text) {
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
        Problem::new(Code::HashInCommand, hash..line.end, "` #` begins a comment")
            .label("this is not part of the text")
            .help("quote the text; if a comment is meant, write a blank behind `#`")
            .fix(Fix::replace(source, &whole, &quoted(text))),
    )
}

/// `{{ params.x }}` and `${params.x}`: nobody but windlass knows these names, and it reads `${{ }}` only.
pub(super) fn lone_braces(source: &Source, node: &Node<'_>, shape: Shape) -> Vec<Problem> {
    let text = node.as_text().filter(|_| matches!(shape, Shape::Script | Shape::Text));
    let text = text.unwrap_or_default();
    let found = [("{{", "}}"), ("${", "}")].into_iter().flat_map(|(open, close)| {
        let places = text.match_indices(open).map(|(at, _)| at);
        places.filter_map(move |at| lone_brace(text, at, (open, close)))
    });
    let problem = |(range, path): (Range<usize>, &str)| {
        let span = node.locate(source.text(), &range);
        let right = format!("${{{{ {path} }}}}");
        let title = format!("`{}` is no value", &text[range.clone()]);
        let exact = source.text().get(span.clone()) == Some(&text[range]);
        let fix = exact.then(|| Fix::replace(source, &span, &right)).flatten();
        let problem = Problem::new(Code::LoneBraces, span, title).label("it stays as it is");
        problem.help(format!("a value is written `{right}`")).fix(fix)
    };
    found.map(problem).collect()
}

/// The braces at a place and the path between them, if it is one of windlass's.
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

/// How the paths begin that stand between braces.
const ROOTS: &[&str] = &["params.", "matrix.", "steps.", "run."];

/// `needs: a, b`: one text with a comma where a list is meant.
pub(super) fn comma_list(
    source: &Source,
    node: &Node<'_>,
    item: Shape,
    key: &str,
) -> Option<Problem> {
    let scalar = node.as_scalar().filter(|scalar| scalar.quote != Quote::Block)?;
    let listed = matches!(item, Shape::Name | Shape::Requirement | Shape::Grows(Shape::Name, _));
    let text = &*scalar.text;
    if !listed || !text.contains(',') || text.contains("${{") {
        return None;
    }
    let parts: Vec<&str> = text.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
    let written: Vec<String> = parts.iter().map(|part| in_flow(part)).collect();
    Some(
        Problem::new(
            Code::CommaList,
            node.span.clone(),
            format!("`{key}` is one text with a comma, not a list"),
        )
        .label("YAML makes a list only of what stands in brackets")
        .fix(Fix::replace(source, &node.span, &format!("[{}]", written.join(", ")))),
    )
}

/// `{ run: echo hi, there }`: indices of entries that are the rest of a text before them. Each text is told once.
pub(super) fn swallowed(
    source: &Source,
    entries: &[Entry<'_>],
    problems: &mut Vec<Problem>,
) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let lone = |entry: &Entry<'_>| {
        let null = matches!(entry.value.value, Value::Null) && entry.value.span.is_empty();
        null && !source.text()[entry.key.span.end..].trim_start().starts_with(':')
    };
    for at in 1..entries.len() {
        let before = &entries[at - 1].value;
        let plain = before.as_scalar().is_some_and(|scalar| scalar.quote == Quote::Plain);
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
            Code::CommaInBraces,
            key.span.clone(),
            "between braces a comma ends the text",
        )
        .label(format!("YAML reads `{}` as a key of its own", key.text));
        Problem::add(problems, problem.fix(Fix::replace(source, &whole, &quoted(text))));
    }
    found
}

fn comma_between(source: &Source, before: &Node<'_>, after: &Entry<'_>) -> bool {
    let between = source.text().get(before.span.end..after.key.span.start);
    between.is_some_and(|text| text.trim() == ",")
}

/// The text as an item of a `[…]` list.
fn in_flow(text: &str) -> String {
    let safe = text.chars().all(|c| c.is_alphanumeric() || " _-./=<>".contains(c));
    if is_name(text) || (safe && !text.is_empty()) { text.to_owned() } else { quoted(text) }
}
