//! Typed values as JSON objects: the outputs of a step.

use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::ser::{Formatter, Serializer};
use serde_json::{Map, Value};
use windlass_core::outcome::{INLINE_OUTPUT_MAX, StepOutput};
use windlass_store::logs::VALUE_MAX;

/// The output name of a result without fields: `steps.count.outputs.value`.
const WHOLE: &str = "value";

/// A result as outputs.
#[derive(Debug, PartialEq)]
pub(super) enum EncodedResult {
    /// Sent in the outcome.
    Small(StepOutput),
    /// Stored beside the outcome.
    Large(String),
}

/// The reason why a result cannot be sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum UnfitResult {
    /// It cannot leave its machine, for this reason.
    Travels(String),
    /// It holds a secret.
    Secret,
}

/// Converts a result to outputs: the fields of a struct, or one output named `value` for any other type.
pub(super) fn encode<T: Serialize>(
    result: &T,
    holds_secret: impl Fn(&str) -> bool,
) -> Result<EncodedResult, UnfitResult> {
    let mut text = written(result)?;
    let whole = &text[BEFORE.len()..text.len() - AFTER.len()];
    if whole == "null" {
        return Ok(EncodedResult::Small(StepOutput::NONE));
    }
    // An object with this single name would be ambiguous: it would look like a wrapped value.
    if whole.starts_with('{') && !is_whole_value_reference(whole) {
        text.truncate(text.len() - AFTER.len());
        text.drain(..BEFORE.len());
    }
    if holds_secret(&text) {
        return Err(UnfitResult::Secret);
    }
    if text.len() > INLINE_OUTPUT_MAX {
        return Ok(EncodedResult::Large(text));
    }
    Ok(EncodedResult::Small(StepOutput::inline(text)))
}

/// The wrapper of a value without fields.
const BEFORE: &str = "{\"value\":";
const AFTER: &str = "}";

/// A result as JSON, as an output called `value`.
fn written<T: Serialize>(result: &T) -> Result<String, UnfitResult> {
    let mut page = BoundedText { text: BEFORE.to_owned().into_bytes(), is_full: false };
    let mut serializer = Serializer::with_formatter(&mut page, ExactNumberFormatter);
    let written = result.serialize(&mut serializer);
    if page.is_full {
        return Err(UnfitResult::Travels(format!("takes more than {BYTES_MAX} bytes as JSON")));
    }
    written.map_err(|error| UnfitResult::Travels(format!("cannot be written as JSON: {error}")))?;
    page.text.extend_from_slice(AFTER.as_bytes());
    Ok(String::from_utf8(page.text).expect("JSON is text"))
}

/// Whether an object looks like a wrapped value.
fn is_whole_value_reference(object: &str) -> bool {
    let read = || serde_json::from_str::<Value>(object).ok();
    let first = object[1..].trim_start();
    first.starts_with("\"value\"") && read().is_some_and(|it| it.as_object().is_some_and(is_whole))
}

/// The maximum bytes of a result: those of a stored value without the wrapper.
const BYTES_MAX: u64 = VALUE_MAX - 16;

/// A text that refuses bytes beyond a limit.
struct BoundedText {
    text: Vec<u8>,
    is_full: bool,
}

impl io::Write for BoundedText {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.is_full |= (self.text.len() + bytes.len() - BEFORE.len()) as u64 > BYTES_MAX;
        if self.is_full {
            return Err(io::Error::other("too large"));
        }
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// JSON without numbers that a reader would not get back.
struct ExactNumberFormatter;

impl Formatter for ExactNumberFormatter {
    fn write_u128<W: io::Write + ?Sized>(
        &mut self,
        writer: &mut W,
        number: u128,
    ) -> io::Result<()> {
        self.write_u64(writer, u64::try_from(number).map_err(io::Error::other)?)
    }

    fn write_i128<W: io::Write + ?Sized>(
        &mut self,
        writer: &mut W,
        number: i128,
    ) -> io::Result<()> {
        match u64::try_from(number) {
            Ok(number) => self.write_u64(writer, number),
            Err(_) => self.write_i64(writer, i64::try_from(number).map_err(io::Error::other)?),
        }
    }
}

/// Converts outputs to a result.
pub(super) fn decode<T: DeserializeOwned>(outputs: &Value) -> Result<T, String> {
    let whole = outputs.as_object().filter(|fields| is_whole(fields)).map(|fields| &fields[WHOLE]);
    let read = |value: &Value| T::deserialize(value);
    let decoded = match whole {
        // A step without types can have an output with that name.
        Some(whole) => read(whole).or_else(|error| read(outputs).map_err(|_| error)),
        None => read(outputs),
    };
    decoded.map_err(|error| error.to_string())
}

/// Reads a value that may have been converted to text: of a param, or of a cell.
pub(super) fn from_text<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    let direct = T::deserialize(value);
    direct.or_else(|error| from_text_inside(value).ok_or_else(|| error.to_string()))
}

/// Reads numbers and booleans from text.
fn from_text_inside<T: DeserializeOwned>(value: &Value) -> Option<T> {
    let plain = |text: &str| serde_json::from_str::<Value>(text).ok();
    let read = match value {
        Value::String(text) => plain(text)?,
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| {
                let read = value.as_str().and_then(plain);
                (name.clone(), read.unwrap_or_else(|| value.clone()))
            });
            Value::Object(fields.collect())
        }
        _ => return None,
    };
    T::deserialize(&read).ok()
}

fn is_whole(fields: &Map<String, Value>) -> bool {
    fields.len() == 1 && fields.contains_key(WHOLE)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fmt::Debug;

    use serde::Deserialize;
    use serde_json::json;
    use windlass_core::outcome::StepValue;

    use super::*;

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct PlainSample {
        value: u8,
    }

    fn nothing(_: &str) -> bool {
        false
    }

    fn travels<T: Serialize + DeserializeOwned + PartialEq + Debug>(result: T) {
        let outputs = match encode(&result, nothing).unwrap() {
            EncodedResult::Small(StepOutput { value: StepValue::Inline(text), .. }) => {
                serde_json::from_str(&text).unwrap()
            }
            EncodedResult::Large(text) => serde_json::from_str(&text).unwrap(),
            EncodedResult::Small(_) => Value::Null,
        };
        assert!(outputs.is_object() || outputs.is_null(), "{outputs}");
        assert_eq!(decode::<T>(&outputs), Ok(result));
    }

    #[test]
    fn every_value_survives_encoding_and_decoding() {
        travels(());
        travels(7_u64);
        travels(Some("text".to_owned()));
        travels(None::<u8>);
        travels(PlainSample { value: 3 });
        travels(BTreeMap::from([("value".to_owned(), PlainSample { value: 3 })]));
        travels(vec![1_u8, 2, 3]);
        travels(json!({ "value": 1 }));
        travels(json!({ "value": { "value": 1 } }));
        travels(json!({ "a": 1, "value": 2 }));
        travels(json!(true));
        travels(u64::MAX);
        travels((i64::MIN, f64::MAX, f32::MIN_POSITIVE));
        travels(u128::from(u64::MAX));
        travels(i128::from(i64::MIN));
    }

    #[test]
    fn output_of_an_untyped_step_is_readable() {
        assert_eq!(decode::<PlainSample>(&json!({ "value": 3 })), Ok(PlainSample { value: 3 }));
        assert_eq!(from_text::<u8>(&json!("7")), Ok(7));
        assert_eq!(from_text::<String>(&json!("7")), Ok("7".to_owned()));
        assert_eq!(
            from_text::<PlainSample>(&json!({ "value": "4" })),
            Ok(PlainSample { value: 4 })
        );
    }

    #[test]
    fn numbers_with_a_fraction_keep_every_bit() {
        let mut bits = 0x3ff0_1234_5678_9abc_u64;
        for _ in 0..1_000 {
            // Numbers that differ in all their digits.
            bits = bits.rotate_left(1) ^ 0x0003_0f0f_0f0f_0f0f;
            let number = f64::from_bits(bits & !(1 << 62) | 1 << 61);
            travels(number);
        }
    }

    #[test]
    fn large_values_are_distinguished_from_oversized_and_secret_ones() {
        let large = encode(&"x".repeat(INLINE_OUTPUT_MAX), nothing).unwrap();
        assert!(
            matches!(large, EncodedResult::Large(text) if text.len() == INLINE_OUTPUT_MAX + 12)
        );
        let most = usize::try_from(BYTES_MAX).unwrap();
        let huge = encode(&"x".repeat(most), nothing);
        assert_eq!(
            huge,
            Err(UnfitResult::Travels("takes more than 16777200 bytes as JSON".to_owned()))
        );
        assert!(encode(&"x".repeat(most - 2), nothing).is_ok());
        assert_eq!(encode(&"hunter2", |text| text.contains("hunter2")), Err(UnfitResult::Secret));
        let error = encode(&BTreeMap::from([((1, 2), 3)]), nothing).unwrap_err();
        let UnfitResult::Travels(why) = error else { panic!("{error:?}") };
        assert!(why.contains("cannot be written as JSON"), "{why}");
        let error = encode(&(u128::from(u64::MAX) + 1), nothing).unwrap_err();
        let UnfitResult::Travels(why) = error else { panic!("{error:?}") };
        assert_eq!(
            why,
            "cannot be written as JSON: out of range integral type conversion attempted"
        );
    }
}
