//! What a step hands on: the file that `$WINDLASS_OUTPUT` names.
//!
//! ```text
//!  name=value              the rest of the line, as text
//!  name:=[1, "two"]        JSON
//!  name<<END               all lines up to one that is END, as text
//!  first line
//!  END
//! ```

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use serde_json::{Map, Value};
use windlass_core::outcome::INLINE_OUTPUT_MAX;

/// Why a step's outputs cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutputError {
    /// The file is gone, a folder, or cannot be read.
    #[error(
        "$WINDLASS_OUTPUT cannot be read: {0}; a step writes to it with >>, and leaves it there"
    )]
    Unreadable(String),
    /// More than is kept.
    #[error(
        "$WINDLASS_OUTPUT has more than {INLINE_OUTPUT_MAX} bytes: hand large data on in a file"
    )]
    TooLarge,
    /// A line that is none of the three forms.
    #[error(
        "line {line} of $WINDLASS_OUTPUT is not `name=value`, `name:=json` or `name<<END`: {text:?}"
    )]
    Malformed {
        /// Which line, from 1.
        line: usize,
        /// Its beginning.
        text: String,
    },
    /// A value that should be JSON and is not.
    #[error("line {line} of $WINDLASS_OUTPUT: the value of `{name}` is not JSON: {reason}")]
    NotJson {
        /// Which line, from 1.
        line: usize,
        /// Which output.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// A block without its end.
    #[error("line {line} of $WINDLASS_OUTPUT begins `{name}<<{end}`, and no line is `{end}`")]
    Unended {
        /// Which line, from 1.
        line: usize,
        /// Which output.
        name: String,
        /// What should end it.
        end: String,
    },
    /// Outputs that the step declares and did not write.
    #[error("the step declares the output{} {} and did not write {}", if .0.len() == 1 { "" } else { "s" }, .0.join(", "), if .0.len() == 1 { "it" } else { "them" })]
    Missing(Vec<String>),
}

/// Reads the outputs of a step that declares some of them.
pub fn read(file: &Path, declared: &[String]) -> Result<Map<String, Value>, OutputError> {
    let text = match read_bounded(file) {
        Ok(bytes) if bytes.len() > INLINE_OUTPUT_MAX => return Err(OutputError::TooLarge),
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        // A step that declares nothing may do with the file what it likes.
        Err(_) if declared.is_empty() => return Ok(Map::new()),
        Err(error) => return Err(OutputError::Unreadable(error.to_string())),
    };
    let outputs = parse(&text)?;
    let missing: Vec<String> =
        declared.iter().filter(|name| !outputs.contains_key(*name)).cloned().collect();
    if missing.is_empty() { Ok(outputs) } else { Err(OutputError::Missing(missing)) }
}

fn read_bounded(file: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(file)?.take(INLINE_OUTPUT_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The outputs in a text. A name that comes twice has its last value.
pub fn parse(text: &str) -> Result<Map<String, Value>, OutputError> {
    let mut outputs = Map::new();
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let number = at + 1;
        if line.trim().is_empty() {
            continue;
        }
        let (name, rest) = split_name(line).ok_or_else(|| malformed(number, line))?;
        let value = if let Some(json) = rest.strip_prefix(":=") {
            serde_json::from_str(json).map_err(|error| OutputError::NotJson {
                line: number,
                name: name.to_owned(),
                reason: error.to_string(),
            })?
        } else if let Some(end) = rest.strip_prefix("<<") {
            block(&mut lines, end).ok_or_else(|| OutputError::Unended {
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

/// A name and what follows it.
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

fn malformed(line: usize, text: &str) -> OutputError {
    OutputError::Malformed { line, text: text.chars().take(60).collect() }
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
    fn what_cannot_be_read_is_told_with_its_line() {
        let told = |text| parse(text).expect_err("it is wrong").to_string();
        insta::assert_snapshot!(told("a=1\nhello world"), @r#"line 2 of $WINDLASS_OUTPUT is not `name=value`, `name:=json` or `name<<END`: "hello world""#);
        insta::assert_snapshot!(told("a:={"), @"line 1 of $WINDLASS_OUTPUT: the value of `a` is not JSON: EOF while parsing an object at line 1 column 1");
        insta::assert_snapshot!(told("a<<END\n1"), @"line 1 of $WINDLASS_OUTPUT begins `a<<END`, and no line is `END`");
        insta::assert_snapshot!(told("1=2"), @r#"line 1 of $WINDLASS_OUTPUT is not `name=value`, `name:=json` or `name<<END`: "1=2""#);
    }

    #[test]
    fn a_declared_output_that_was_not_written_is_missed() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let file = folder.path().join("output");
        std::fs::write(&file, "a=1\n").expect("it can be written");
        let declared = ["a".to_owned(), "b".to_owned(), "c".to_owned()];
        let error = read(&file, &declared).expect_err("two are missing");
        assert_eq!(error.to_string(), "the step declares the outputs b, c and did not write them");
        std::fs::remove_file(&file).expect("it is there");
        assert_eq!(read(&file, &[]), Ok(Map::new()));
        assert!(matches!(read(&file, &declared), Err(OutputError::Unreadable(_))));
        std::fs::write(&file, vec![b'a'; INLINE_OUTPUT_MAX + 1]).expect("it can be written");
        assert_eq!(read(&file, &[]), Err(OutputError::TooLarge));
    }
}
