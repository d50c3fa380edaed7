//! The reference of the pipeline file in Markdown, from the same tables that check it.

use std::fmt::Write as _;

use super::files::{ARTIFACTS, FETCH, WORKSPACE};
use super::key_spec::{KeyAvailability, KeyDefault, KeyReads, KeySpec, ObjectKeys, ValueShape};
use super::matrix::MATRIX;
use super::nested::{LOCK, NEED, NODES};
use super::pipeline::{PARAM, PIPELINE};
use super::reference_text::{ENVIRONMENT, INTRODUCTION, OUTPUTS, VALUES};
use super::reports::REPORTS;
use super::retry::RETRY;
use super::step::{DEFAULTS, STEP};
use crate::display_text;
use crate::plan::NAME_MAX;

/// Every kind of map, in the order of the page.
pub(super) const OBJECTS: [&ObjectKeys; 13] = [
    &PIPELINE, &WORKSPACE, &PARAM, &STEP, &NEED, &MATRIX, &RETRY, &LOCK, &NODES, &ARTIFACTS,
    &FETCH, &REPORTS, &DEFAULTS,
];

/// Columns of a line of prose.
const COLUMNS: usize = 120;

/// The page `docs/reference/pipeline.md`.
pub fn pipeline_reference() -> String {
    let mut page = INTRODUCTION.to_owned();
    for object in OBJECTS {
        page.push_str(&section(object));
    }
    page.push_str(&unavailable());
    page + VALUES + OUTPUTS + ENVIRONMENT
}

fn section(object: &ObjectKeys) -> String {
    let keys = || object.keys.iter().filter(|key| key.available == KeyAvailability::Now);
    let heading = match object.path {
        "" => "Keys of the pipeline".to_owned(),
        path => format!("Keys of `{path}`"),
    };
    let mut text = format!("\n## {heading}\n\n{}\n\n", object.intro.trim());
    if object.keys.is_empty() {
        return text;
    }
    text.push_str("| key | type | default |\n|---|---|---|\n");
    // The keys of `defaults` are those of a step: they are described there.
    let described = if object.name == DEFAULTS.name { &STEP } else { object };
    for key in keys() {
        let (link, of) = (anchor(&key_path(described, key)), type_name(key.shape));
        let default = default_text(key).unwrap_or_default();
        let _ = writeln!(text, "| [`{}`](#{link}) | {of} | {default} |", key.name);
    }
    if object.name != DEFAULTS.name {
        keys().for_each(|key| text.push_str(&entry(object, key)));
    }
    text
}

fn entry(object: &ObjectKeys, key: &KeySpec) -> String {
    let prose = wrapped(format!("{}. {}", key.doc, key.details).trim());
    let mut text = format!("\n### `{}`\n\n{prose}\n\n", key_path(object, key));
    let _ = writeln!(text, "- Type: {}", type_name(key.shape));
    if let Some(default) = default_text(key) {
        let _ = writeln!(text, "- Default: {default}");
    }
    if key.entries_max != usize::MAX {
        let most = i64::try_from(key.entries_max).unwrap_or(i64::MAX);
        let _ = writeln!(text, "- Limit: {} entries", grouped(most));
    }
    if let Some(reads) = reads_text(key.reads) {
        let _ = writeln!(text, "- Expressions can read {reads}");
    }
    let _ = write!(text, "\n```yaml\n{}```\n", key.example.trim_start());
    text
}

/// The keys that the parser knows and no step can use.
fn unavailable() -> String {
    let mut text = "\n## Keys that are not available yet\n\n`windlass validate` notes these keys, and `windlass run` refuses them (`E043`).\n\n\
                    | key | meaning |\n|---|---|\n"
        .to_owned();
    for object in [&PIPELINE, &STEP] {
        for key in object.keys.iter().filter(|key| key.available == KeyAvailability::NotYet) {
            let _ = writeln!(text, "| `{}` | {} |", key_path(object, key), key.doc);
        }
    }
    text
}

fn key_path(object: &ObjectKeys, key: &KeySpec) -> String {
    if object.path.is_empty() {
        key.name.to_owned()
    } else {
        format!("{}.{}", object.path, key.name)
    }
}

/// The fragment under which GitHub and mdBook show a heading.
fn anchor(heading: &str) -> String {
    let kept = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ' ');
    heading.to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")
}

fn default_text(key: &KeySpec) -> Option<String> {
    match key.default {
        KeyDefault::Required => Some("required".to_owned()),
        KeyDefault::Nothing => None,
        KeyDefault::Value(value) => Some(format!("`{value}`")),
        KeyDefault::Phrase(words) => Some(words.to_owned()),
    }
}

fn reads_text(reads: KeyReads) -> Option<&'static str> {
    match reads {
        KeyReads::Nothing => None,
        KeyReads::Params => Some("`params`"),
        KeyReads::Run => Some("`params` and `run`"),
        KeyReads::PlanTime => Some("`params` and `matrix`"),
        KeyReads::Outcomes => Some("`params`, `matrix` and `steps`"),
        KeyReads::Everything => Some("`params`, `matrix`, `steps` and `run`"),
    }
}

fn type_name(shape: ValueShape) -> String {
    match shape {
        ValueShape::Text => "[string](#strings)".to_owned(),
        ValueShape::Script => "script".to_owned(),
        ValueShape::Condition => "[expression](expressions.md)".to_owned(),
        ValueShape::Name => format!("[name](#names) of at most {NAME_MAX} bytes"),
        ValueShape::Flag => "`true` or `false`".to_owned(),
        ValueShape::Number(min, max) => {
            format!("integer from {} to {}", grouped(min), grouped(max))
        }
        ValueShape::Duration => "[duration](#durations)".to_owned(),
        ValueShape::PositiveDuration => "[duration](#durations) above zero".to_owned(),
        ValueShape::DurationRange => {
            "[duration](#durations), or a range such as `5s..1m`".to_owned()
        }
        ValueShape::RetryOn => "`failed`, `timed_out` or `exit-N`".to_owned(),
        ValueShape::IdempotencyKey => {
            format!("[string](#strings) of 1 to {} bytes in one line", display_text::NAME_MAX)
        }
        ValueShape::Requirement => "[requirement](#requirements)".to_owned(),
        ValueShape::OneOfWords(words) => {
            let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
            words.join(" or ")
        }
        ValueShape::List(item) => format!("list of {}", type_name(*item)),
        ValueShape::OneOrMany(item) => format!("{}; or a list of them", type_name(*item)),
        ValueShape::Map(item) => format!("map of names to {}", type_name(*item)),
        ValueShape::Object(object) => object_link(object),
        ValueShape::ShortOrObject(short, object) => {
            format!("{}; or a {}", type_name(*short), object_link(object))
        }
        ValueShape::Anything => "any value".to_owned(),
    }
}

fn object_link(object: &ObjectKeys) -> String {
    format!("[map](#{})", anchor(&format!("keys of {}", object.path)))
}

/// A number with commas between groups of three digits.
fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = if number < 0 { "-".to_owned() } else { String::new() };
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The same words in lines of at most [`COLUMNS`]. Code between backticks stays on one line.
fn wrapped(text: &str) -> String {
    let mut lines = String::new();
    let mut width = 0;
    let mut in_code = false;
    let ends_word = |c: char| {
        in_code ^= c == '`';
        c.is_whitespace() && !in_code
    };
    for word in text.split(ends_word).filter(|word| !word.is_empty()) {
        let length = word.chars().count();
        if width > 0 {
            let breaks = width + 1 + length > COLUMNS;
            lines.push(if breaks { '\n' } else { ' ' });
            width = if breaks { 0 } else { width + 1 };
        }
        lines.push_str(word);
        width += length;
    }
    lines
}
