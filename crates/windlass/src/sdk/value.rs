//! How typed values travel: as the JSON object that a step's outputs are.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use windlass_core::outcome::{INLINE_OUTPUT_MAX, Output};

/// The name that stands for a result without fields of its own: `steps.count.outputs.value`.
const WHOLE: &str = "value";

/// A result as outputs: the fields of a struct are outputs of the step, anything else is one called `value`.
pub(crate) fn encode<T: Serialize>(
    result: &T,
    cover: impl Fn(&str) -> String,
) -> Result<Output, String> {
    let value = serde_json::to_value(result)
        .map_err(|error| format!("its result cannot be written as JSON: {error}; {PIN}"))?;
    let outputs = match value {
        Value::Null => return Ok(Output::None),
        // An object of this one name could not be told from what stands for a whole value.
        Value::Object(fields) if !is_whole(&fields) => Value::Object(fields),
        whole => Value::Object(Map::from_iter([(WHOLE.to_owned(), whole)])),
    };
    let text = outputs.to_string();
    if text.len() > INLINE_OUTPUT_MAX {
        return Err(format!(
            "its result takes {} bytes as JSON, and at most {INLINE_OUTPUT_MAX} travel: hand large data on in a file; {PIN}",
            text.len()
        ));
    }
    if cover(&text) != text {
        return Err("its result holds a secret: hand it on in no result".to_owned());
    }
    Ok(Output::Inline(Arc::from(text)))
}

/// What to do about a result that cannot travel.
const PIN: &str = "or do both in one step, with `pin` where that has to be on the leader";

/// A result from outputs.
pub(super) fn decode<T: DeserializeOwned>(outputs: &Value) -> Result<T, String> {
    let whole = outputs.as_object().filter(|fields| is_whole(fields)).map(|fields| &fields[WHOLE]);
    let read = |value: &Value| T::deserialize(value);
    let decoded = match whole {
        // A step without types may hand on a field of that name.
        Some(whole) => read(whole).or_else(|error| read(outputs).map_err(|_| error)),
        None => read(outputs),
    };
    decoded.map_err(|error| error.to_string())
}

/// A value that may have been text on its way: of a param, or a cell.
pub(super) fn from_text<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    let direct = T::deserialize(value);
    direct.or_else(|error| from_text_inside(value).ok_or_else(|| error.to_string()))
}

/// Numbers and flags inside of texts are read as what they are.
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

    use super::*;

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Plain {
        value: u8,
    }

    fn travels<T: Serialize + DeserializeOwned + PartialEq + Debug>(result: T) {
        let outputs = match encode(&result, str::to_owned).unwrap() {
            Output::Inline(text) => serde_json::from_str(&text).unwrap(),
            _ => Value::Null,
        };
        assert!(outputs.is_object() || outputs.is_null(), "{outputs}");
        assert_eq!(decode::<T>(&outputs), Ok(result));
    }

    #[test]
    fn every_value_comes_out_as_it_went_in() {
        travels(());
        travels(7_u64);
        travels(Some("text".to_owned()));
        travels(None::<u8>);
        travels(Plain { value: 3 });
        travels(BTreeMap::from([("value".to_owned(), Plain { value: 3 })]));
        travels(vec![1_u8, 2, 3]);
        travels(json!({ "value": 1 }));
        travels(json!({ "value": { "value": 1 } }));
        travels(json!({ "a": 1, "value": 2 }));
        travels(json!(true));
    }

    #[test]
    fn what_a_step_without_types_hands_on_is_read_too() {
        assert_eq!(decode::<Plain>(&json!({ "value": 3 })), Ok(Plain { value: 3 }));
        assert_eq!(from_text::<u8>(&json!("7")), Ok(7));
        assert_eq!(from_text::<String>(&json!("7")), Ok("7".to_owned()));
        assert_eq!(from_text::<Plain>(&json!({ "value": "4" })), Ok(Plain { value: 4 }));
    }

    #[test]
    fn what_is_too_large_or_secret_does_not_travel() {
        let error = encode(&"x".repeat(INLINE_OUTPUT_MAX), str::to_owned).unwrap_err();
        assert!(error.contains("65548 bytes") && error.contains("`pin`"), "{error}");
        let cover = |text: &str| text.replace("hunter2", "***");
        let error = encode(&"hunter2", cover).unwrap_err();
        assert_eq!(error, "its result holds a secret: hand it on in no result");
        let error = encode(&BTreeMap::from([((1, 2), 3)]), str::to_owned).unwrap_err();
        assert!(error.contains("cannot be written as JSON") && error.contains("`pin`"), "{error}");
    }
}
