//! Commands in other forms than `run: |`.

use crate::problem::{Problem, ProblemCode, SourceFile, SuggestedFix};
use crate::spec::keys::ValueShape;
use crate::spec::yaml::{YamlNode, YamlQuoting, YamlValue};

/// Rewrites `key: [a, b]` as `run: |` with one line per command. Returns `None` if the key does not begin its line, or a
/// command has several lines.
pub(super) fn one_command_per_line(
    source: &SourceFile,
    key: &str,
    value: &YamlNode<'_>,
) -> Option<SuggestedFix> {
    let YamlValue::List(items) = &value.value else { return None };
    let commands: Vec<&str> = items.iter().map(YamlNode::as_text).collect::<Option<_>>()?;
    if commands.is_empty() || commands.iter().any(|text| text.trim().is_empty()) {
        return None;
    }
    block_script(source, key, value, &commands)
}

fn block_script(
    source: &SourceFile,
    key: &str,
    value: &YamlNode<'_>,
    commands: &[&str],
) -> Option<SuggestedFix> {
    let text = source.text();
    let before = text[..value.span.start].trim_end().strip_suffix(':')?.strip_suffix(key)?;
    let line = source.line_around(before.len());
    let indent = &text[line.start..before.len()];
    let behind = text[value.span.end..source.line_around(value.span.end).end].trim();
    let plain = |text: &&str| !text.contains(['\n', '\r']);
    if !indent.trim_start_matches(' ').is_empty()
        || !behind.is_empty()
        || !commands.iter().all(plain)
    {
        return None;
    }
    let lines = commands.join(&format!("\n{indent}  "));
    let text = format!("{indent}run: |\n{indent}  {lines}");
    Some(SuggestedFix { span: line.start..value.span.end, text })
}

/// Reports several lines without `|`, which YAML joins into one. Lines that continue the previous one are intended.
pub(super) fn joined_lines(
    source: &SourceFile,
    node: &YamlNode<'_>,
    shape: ValueShape,
) -> Option<Problem> {
    let scalar = node.as_scalar().filter(|scalar| scalar.quote == YamlQuoting::Plain)?;
    let written = source.text().get(node.span.clone())?;
    if !matches!(shape, ValueShape::Script) || !written.contains('\n') {
        return None;
    }
    let lines: Vec<&str> = written.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let goes_on = |pair: &[&str]| {
        let (above, below) = (pair[0], pair[1]);
        above.ends_with(['\\', '|', '&', ';', ',', '(', '{'])
            || !below.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '.' || c == '/')
    };
    if lines.windows(2).any(goes_on) {
        return None;
    }
    let first = source.line_around(node.span.start);
    Some(
        Problem::new(
            ProblemCode::JoinedLines,
            node.span.start..first.end.max(node.span.start),
            "YAML joins these lines into one",
        )
        .label(format!("the command is `{}`", super::scalar::shortened(&scalar.text)))
        .help("write `run: |` for one command per line, or `run: >` for one long command")
        .fix(block_script(source, "run", node, &lines)),
    )
}
