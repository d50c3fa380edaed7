//! The JSON Schema of the file, from the same tables that check it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::objects::{PARAM, PIPELINE};
use super::table::{Available, Key, NO_KEYS, Object, Shape};

/// A template wherever text is allowed: it is decided later what comes out of it.
const TEMPLATE: &str = r"\$\{\{";
const DURATION: &str = r"^([0-9]+(ms|s|m|h|d))+$";
/// A duration with a digit that is not zero.
const LIMIT: &str = r"^([0-9]+(ms|s|m|h|d))*0*[1-9][0-9]*(ms|s|m|h|d)([0-9]+(ms|s|m|h|d))*$";
const NAME: &str = "^[A-Za-z_][A-Za-z0-9_-]*$";

/// The JSON Schema of a pipeline file, for editors and for checks by machine.
pub fn schema() -> Value {
    let mut definitions = BTreeMap::new();
    let root = object(&PIPELINE, &mut definitions);
    let mut schema = Map::new();
    schema.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("title".into(), json!("windlass pipeline"));
    schema.insert("required".into(), json!(["steps"]));
    schema.extend(root.as_object().cloned().unwrap_or_default());
    schema.insert("$defs".into(), json!(definitions));
    Value::Object(schema)
}

type Definitions = BTreeMap<&'static str, Value>;

fn object(object: &'static Object, definitions: &mut Definitions) -> Value {
    let mut properties = Map::new();
    for key in object.keys {
        properties.insert(key.name.to_owned(), property(key, definitions));
    }
    let rest = object.rest.map_or(json!(false), |rest| shape(rest, definitions));
    json!({
        "type": "object",
        "properties": properties,
        "patternProperties": { "^x-": true },
        "additionalProperties": rest,
    })
}

fn property(key: &Key, definitions: &mut Definitions) -> Value {
    let mut value = shape(key.shape, definitions);
    let doc = match key.available {
        Available::Now => key.doc.to_owned(),
        Available::NotYet => format!("{} (not available yet)", key.doc),
    };
    if let Some(fields) = value.as_object_mut() {
        fields.insert("description".into(), json!(doc));
        let map = matches!(key.shape, Shape::Map(_));
        let most = if map { "maxProperties" } else { "maxItems" };
        fields.extend((key.most != usize::MAX).then(|| (most.into(), json!(key.most))));
    }
    value
}

fn shape(of: Shape, definitions: &mut Definitions) -> Value {
    let text_or =
        |pattern: &str| json!({ "type": "string", "pattern": format!("{TEMPLATE}|{pattern}") });
    match of {
        Shape::Text => json!({ "type": ["string", "number", "boolean"] }),
        Shape::Script => json!({ "type": "string" }),
        Shape::Condition => json!({ "type": ["string", "boolean"] }),
        Shape::Name => json!({ "type": "string", "pattern": NAME }),
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Number(min, max) => json!({ "anyOf": [
            { "type": "integer", "minimum": min, "maximum": max },
            { "type": "string", "pattern": TEMPLATE },
        ] }),
        Shape::Duration => text_or(DURATION),
        Shape::Limit => text_or(LIMIT),
        Shape::Wait => text_or(r"^([0-9]+(ms|s|m|h|d))+(\.\.([0-9]+(ms|s|m|h|d))+)?$"),
        Shape::RetryOn => {
            json!({ "type": "string", "pattern": "^(failed|timed_out|exit-[0-9]+)$" })
        }
        Shape::OnceKey => {
            json!({ "type": "string", "minLength": 1, "not": { "enum": NO_KEYS } })
        }
        Shape::Requirement => json!({ "type": "string", "minLength": 1 }),
        Shape::Word(words) => json!({ "enum": words }),
        Shape::List(item) => json!({ "type": "array", "items": shape(*item, definitions) }),
        Shape::Many(item) => {
            let one = shape(*item, definitions);
            json!({ "anyOf": [one, { "type": "array", "items": one }] })
        }
        Shape::Map(item) => json!({
            "type": "object",
            "additionalProperties": shape(*item, definitions),
        }),
        Shape::Object(inner) => reference(inner, definitions),
        Shape::Grows(short, inner) => {
            let mut forms = vec![shape(*short, definitions), reference(inner, definitions)];
            if inner.name == PARAM.name {
                forms.push(json!({ "type": "null" }));
            }
            json!({ "anyOf": forms })
        }
        Shape::Anything => json!({}),
    }
}

fn reference(inner: &'static Object, definitions: &mut Definitions) -> Value {
    if !definitions.contains_key(inner.name) {
        definitions.insert(inner.name, Value::Null);
        let value = object(inner, definitions);
        definitions.insert(inner.name, value);
    }
    json!({ "$ref": format!("#/$defs/{}", inner.name) })
}
