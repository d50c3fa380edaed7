//! The outputs of a step: the file that `$WINDLASS_OUTPUT` names.
//!
//! ```text
//!  name=value              the rest of the line, as text
//!  name:=[1, "two"]        JSON
//!  name<<END               all lines up to one that is END, as text
//!  first line
//!  END
//! ```

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use serde_json::{Map, Value};
use windlass_core::outcome::INLINE_OUTPUT_MAX;

use super::masks::SecretMasks;

/// The reason why the outputs of a step are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepOutputError {
    /// The file is gone, a folder, or cannot be read.
    #[error(
        "$WINDLASS_OUTPUT cannot be read: {0}; a step writes to it with >>, and leaves it there"
    )]
    Unreadable(String),
    /// The file is larger than the limit.
    #[error(
        "$WINDLASS_OUTPUT has more than {INLINE_OUTPUT_MAX} bytes: hand large data on in a file"
    )]
    TooLarge,
    /// A line has none of the three forms.
    #[error(
        "line {line} of $WINDLASS_OUTPUT is not `name=value`, `name:=json` or `name<<END`: {:?}",
        beginning(.text)
    )]
    Malformed {
        /// The number of the line, from 1.
        line: usize,
        /// The whole line.
        text: String,
    },
    /// A value should be JSON and is not.
    #[error("line {line} of $WINDLASS_OUTPUT: the value of `{name}` is not JSON: {reason}")]
    NotJson {
        /// The number of the line, from 1.
        line: usize,
        /// The name of the output.
        name: String,
        /// The error of the JSON parser.
        reason: String,
    },
    /// A block has no end.
    #[error("line {line} of $WINDLASS_OUTPUT begins `{name}<<{end}`, and no line is `{end}`")]
    Unended {
        /// The number of the line, from 1.
        line: usize,
        /// The name of the output.
        name: String,
        /// The line that should end the block.
        end: String,
    },
    /// The step declares these outputs and did not write them.
    #[error("the step declares the output{} {} and did not write {}", if .0.len() == 1 { "" } else { "s" }, .0.join(", "), if .0.len() == 1 { "it" } else { "them" })]
    Missing(Vec<String>),
    /// A secret cannot be masked without breaking the values around it.
    #[error(
        "a name or several values in $WINDLASS_OUTPUT make up a secret: hand it on in no output"
    )]
    Secret,
}

/// Reads the outputs of a step that declares some of them, and masks its secrets in them.
pub fn read(
    file: &Path,
    declared: &[String],
    masks: &SecretMasks,
) -> Result<Map<String, Value>, StepOutputError> {
    let text = match read_bounded(file, INLINE_OUTPUT_MAX + 1) {
        Ok(bytes) if bytes.len() > INLINE_OUTPUT_MAX => return Err(StepOutputError::TooLarge),
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        // A step that declares no outputs may do anything with the file.
        Err(_) if declared.is_empty() => return Ok(Map::new()),
        // There is no file: nothing was written.
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(StepOutputError::Unreadable(error.to_string())),
    };
    let mut outputs = parse(&text).map_err(|error| match error {
        StepOutputError::Malformed { line, text } => {
            StepOutputError::Malformed { line, text: masks.cover(&text) }
        }
        other => other,
    })?;
    let missing: Vec<String> =
        declared.iter().filter(|name| !outputs.contains_key(*name)).cloned().collect();
    if !missing.is_empty() {
        return Err(StepOutputError::Missing(missing));
    }
    outputs.values_mut().for_each(|value| mask_values(value, masks));
    let text = serde_json::to_string(&outputs).unwrap_or_default();
    if masks.cover(&text) == text { Ok(outputs) } else { Err(StepOutputError::Secret) }
}

/// Reads the beginning of a file. A pipe or a device is refused.
pub(super) fn read_bounded(file: &Path, most: usize) -> io::Result<Vec<u8>> {
    if !fs::metadata(file)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    File::open(file)?.take(most as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Masks secrets in texts and numbers, so that the result is still JSON.
fn mask_values(value: &mut Value, masks: &SecretMasks) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Array(values) => values.iter_mut().for_each(|value| mask_values(value, masks)),
        Value::Object(values) => values.values_mut().for_each(|value| mask_values(value, masks)),
        Value::String(text) => *text = masks.cover(text),
        Value::Number(number) => {
            let text = number.to_string();
            let covered = masks.cover(&text);
            if covered != text {
                *value = Value::from(covered);
            }
        }
    }
}

/// Parses the outputs in a text. A name that occurs twice has its last value.
pub fn parse(text: &str) -> Result<Map<String, Value>, StepOutputError> {
    let mut outputs = Map::new();
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let number = at + 1;
        if line.trim().is_empty() {
            continue;
        }
        let (name, rest) = split_name(line).ok_or_else(|| malformed(number, line))?;
        let value = if let Some(json) = rest.strip_prefix(":=") {
            serde_json::from_str(json).map_err(|error| StepOutputError::NotJson {
                line: number,
                name: name.to_owned(),
                reason: error.to_string(),
            })?
        } else if let Some(end) = rest.strip_prefix("<<") {
            block(&mut lines, end).ok_or_else(|| StepOutputError::Unended {
                line: number,
                name: name.to_owned(),
                end: end.to_owned(),
            })?
        } else {
            let value = rest.strip_prefix('=').ok_or_else(|| malformed(number, line))?;
            Value::from(value)
        };
        outputs.insert(name.to_owned(), value);
    }
    Ok(outputs)
}

/// Splits a line into a name and what follows it.
fn split_name(line: &str) -> Option<(&str, &str)> {
    let is_first = |c: char| c.is_ascii_alphabetic() || c == '_';
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let end = line.find(|c| !is_name(c)).unwrap_or(line.len());
    line.starts_with(is_first).then(|| line.split_at(end))
}

fn block<'a>(lines: &mut impl Iterator<Item = (usize, &'a str)>, end: &str) -> Option<Value> {
    let mut block = Vec::new();
    for (_, line) in lines {
        if line == end {
            return Some(Value::from(block.join("\n")));
        }
        block.push(line);
    }
    None
}

fn malformed(line: usize, text: &str) -> StepOutputError {
    StepOutputError::Malformed { line, text: text.to_owned() }
}

fn beginning(text: &str) -> String {
    text.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_text_json_or_several_lines() {
        let text = "version=1.10\nempty=\n\nlist:=[1, {\"a\": null}]\nnotes<<EOF\none\n\ntwo=2\nEOF\nversion=1.11";
        let expected = json!({
            "version": "1.11", "empty": "", "list": [1, { "a": null }], "notes": "one\n\ntwo=2",
        });
        assert_eq!(parse(text).map(Value::Object), Ok(expected));
    }

    #[test]
    fn unreadable_output_is_reported_with_its_line() {
        let error_of = |text| parse(text).expect_err("it is wrong").to_string();
        insta::assert_snapshot!(error_of("a=1\nhello world"), @r#"line 2 of $WINDLASS_OUTPUT is not `name=value`, `name:=json` or `name<<END`: "hello world""#);
        insta::assert_snapshot!(error_of("a:={"), @"line 1 of $WINDLASS_OUTPUT: the value of `a` is not JSON: EOF while parsing an object at line 1 column 1");
        insta::assert_snapshot!(error_of("a<<END\n1"), @"line 1 of $WINDLASS_OUTPUT begins `a<<END`, and no line is `END`");
        insta::assert_snapshot!(error_of("1=2"), @r#"line 1 of $WINDLASS_OUTPUT is not `name=value`, `name:=json` or `name<<END`: "1=2""#);
    }

    #[test]
    fn missing_declared_output_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let file = folder.path().join("output");
        std::fs::write(&file, "a=1\n").expect("it can be written");
        let declared = ["a".to_owned(), "b".to_owned(), "c".to_owned()];
        let masks = SecretMasks::default();
        let error = read(&file, &declared, &masks).expect_err("two are missing");
        assert_eq!(error.to_string(), "the step declares the outputs b, c and did not write them");
        std::fs::remove_file(&file).expect("it is there");
        assert_eq!(read(&file, &[], &masks), Ok(Map::new()));
        assert!(
            matches!(read(&file, &declared, &masks), Err(StepOutputError::Missing(missed)) if missed.len() == 3)
        );
        std::fs::write(&file, vec![b'a'; INLINE_OUTPUT_MAX + 1]).expect("it can be written");
        assert_eq!(read(&file, &[], &masks), Err(StepOutputError::TooLarge));
    }

    #[test]
    fn secrets_are_masked_and_the_result_is_json() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let file = folder.path().join("output");
        let masks = SecretMasks::new([("PIN", "123456"), ("KEY", "ka\"b\\c")])
            .expect("they are long enough");
        let masked = |text: &str| {
            std::fs::write(&file, text).expect("it can be written");
            read(&file, &[], &masks)
        };
        let covered = masked("a=x 123456\nb:=1234567\nc:=[\"ka\\\"b\\\\c\", true]\nd=ka\"b\\c");
        let expected = json!({ "a": "x ***", "b": "***7", "c": ["***", true], "d": "***" });
        assert_eq!(covered.map(Value::Object), Ok(expected));
        assert_eq!(masked("n:={\"x123456\": 1}"), Err(StepOutputError::Secret));
        let far = format!("{} 123456", "x".repeat(55));
        let error = masked(&far).expect_err("it is malformed").to_string();
        assert!(!error.contains("123"), "{error}");
    }
}
