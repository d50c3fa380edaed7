//! The JSON Schema of the file, from the same tables that check it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::key_spec::{BOOLEAN_WORDS, KeySpec, ObjectKeys, ValueShape};
use super::pipeline::{PARAM, PIPELINE};

/// A template wherever text is allowed: it is decided later what comes out of it.
const TEMPLATE: &str = r"\$\{\{";
const DURATION: &str = r"^([0-9]+(ms|s|m|h|d))+$";
/// A duration with a digit that is not zero.
const LIMIT: &str = r"^([0-9]+(ms|s|m|h|d))*0*[1-9][0-9]*(ms|s|m|h|d)([0-9]+(ms|s|m|h|d))*$";
const NAME: &str = "^[A-Za-z_][A-Za-z0-9_-]*$";

/// The JSON Schema of a pipeline file, for editors and for checks by machine.
pub fn pipeline_json_schema() -> Value {
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

type SchemaDefinitions = BTreeMap<&'static str, Value>;

fn object(object: &'static ObjectKeys, definitions: &mut SchemaDefinitions) -> Value {
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

fn property(key: &KeySpec, definitions: &mut SchemaDefinitions) -> Value {
    let mut value = shape(key.shape, definitions);
    if let Some(fields) = value.as_object_mut() {
        fields.insert("description".into(), json!(key.description()));
        let map = matches!(key.shape, ValueShape::Map(_));
        let most = if map { "maxProperties" } else { "maxItems" };
        fields
            .extend((key.entries_max != usize::MAX).then(|| (most.into(), json!(key.entries_max))));
    }
    value
}

fn shape(of: ValueShape, definitions: &mut SchemaDefinitions) -> Value {
    let text_or =
        |pattern: &str| json!({ "type": "string", "pattern": format!("{TEMPLATE}|{pattern}") });
    match of {
        ValueShape::Text => json!({ "type": ["string", "number", "boolean"] }),
        ValueShape::Script => json!({ "type": "string" }),
        ValueShape::Condition => json!({ "type": ["string", "boolean"] }),
        ValueShape::Name => json!({ "type": "string", "pattern": NAME }),
        ValueShape::Flag => json!({ "type": "boolean" }),
        ValueShape::Number(min, max) => json!({ "anyOf": [
            { "type": "integer", "minimum": min, "maximum": max },
            { "type": "string", "pattern": TEMPLATE },
        ] }),
        ValueShape::Duration => text_or(DURATION),
        ValueShape::PositiveDuration => text_or(LIMIT),
        ValueShape::DurationRange => {
            text_or(r"^([0-9]+(ms|s|m|h|d))+(\.\.([0-9]+(ms|s|m|h|d))+)?$")
        }
        ValueShape::RetryOn => {
            json!({ "type": "string", "pattern": "^(failed|timed_out|exit-[0-9]+)$" })
        }
        ValueShape::IdempotencyKey => {
            json!({ "type": "string", "minLength": 1, "not": { "enum": BOOLEAN_WORDS } })
        }
        ValueShape::Requirement => json!({ "type": "string", "minLength": 1 }),
        ValueShape::OneOfWords(words) => json!({ "enum": words }),
        ValueShape::List(item) => json!({ "type": "array", "items": shape(*item, definitions) }),
        ValueShape::OneOrMany(item) => {
            let one = shape(*item, definitions);
            json!({ "anyOf": [one, { "type": "array", "items": one }] })
        }
        ValueShape::Map(item) => json!({
            "type": "object",
            "additionalProperties": shape(*item, definitions),
        }),
        ValueShape::Object(inner) => reference(inner, definitions),
        ValueShape::ShortOrObject(short, inner) => {
            let mut forms = vec![shape(*short, definitions), reference(inner, definitions)];
            if inner.name == PARAM.name {
                forms.push(json!({ "type": "null" }));
            }
            json!({ "anyOf": forms })
        }
        ValueShape::Anything => json!({}),
    }
}

fn reference(inner: &'static ObjectKeys, definitions: &mut SchemaDefinitions) -> Value {
    if !definitions.contains_key(inner.name) {
        definitions.insert(inner.name, Value::Null);
        let value = object(inner, definitions);
        definitions.insert(inner.name, value);
    }
    json!({ "$ref": format!("#/$defs/{}", inner.name) })
}
