//! The schemas of the document, derived from the types of bodies and parameters.

use schemars::generate::{Contract, SchemaSettings};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// Makes the schema of a type, or a reference to it.
pub(super) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// Refers to the schema of a type with a name; the schema of any other type itself.
pub(super) fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// Formats of integers, with the range that `minimum` and `maximum` do not tell.
const RANGES: [(&str, i64, u64); 4] = [
    ("int32", i32::MIN as i64, i32::MAX as u64),
    ("uint32", 0, u32::MAX as u64),
    ("uint64", 0, u64::MAX),
    ("uint", 0, u64::MAX),
];

/// Collects the schemas that operations refer to.
///
/// A body has one type and two forms: a field that a client may leave out of a request, because it has a default, is
/// always part of an answer. So requests and answers have a generator each.
#[derive(Debug)]
pub(super) struct OpenApiSchemas {
    requests: SchemaGenerator,
    answers: SchemaGenerator,
}

impl OpenApiSchemas {
    pub(super) fn new() -> Self {
        Self { requests: generator(Contract::Deserialize), answers: generator(Contract::Serialize) }
    }

    /// The schema of a value that the controller reads.
    pub(super) fn request(&mut self, schema: SchemaOf) -> Value {
        let mut schema = schema(&mut self.requests).to_value();
        normalize_request(&mut schema);
        schema
    }

    /// The schema of a value that the controller writes.
    pub(super) fn answer(&mut self, schema: SchemaOf) -> Value {
        let mut schema = schema(&mut self.answers).to_value();
        normalize_answer(&mut schema);
        if schema == true { json!({}) } else { schema }
    }

    /// The parameters behind the path: one for each field of a type.
    pub(super) fn query(&mut self, schema: SchemaOf) -> Vec<Value> {
        let mut schema = self.request(schema);
        let required = schema["required"].take();
        let is_required =
            |name: &str| required.as_array().is_some_and(|all| all.contains(&name.into()));
        let fields = schema["properties"].as_object_mut().map(std::mem::take).unwrap_or_default();
        let parameter = |(name, mut schema): (String, Value)| {
            let description = schema.as_object_mut().and_then(|it| it.remove("description"));
            remove_null(&mut schema);
            json!({
                "in": "query", "name": name, "required": is_required(&name),
                "schema": schema, "description": description,
            })
        };
        fields.into_iter().map(parameter).collect()
    }

    /// All schemas with a name.
    pub(super) fn into_components(mut self) -> Map<String, Value> {
        let mut requests = self.requests.take_definitions(true);
        requests.values_mut().for_each(normalize_request);
        let mut components = self.answers.take_definitions(true);
        components.values_mut().for_each(normalize_answer);
        for (name, schema) in requests {
            let before = components.insert(name.clone(), schema);
            assert!(before.is_none(), "`{name}` names a request and an answer");
        }
        components
    }
}

fn generator(contract: Contract) -> SchemaGenerator {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
        settings.contract = contract;
    });
    settings.into_generator()
}

/// Normalizes the schema of a request and those inside it. States the range of each integer, since a format is only a hint.
/// Removes defaults of null, which only repeat that a field is optional.
fn normalize_request(schema: &mut Value) {
    each_schema(schema, &mut |fields| {
        let format = fields.get("format").and_then(Value::as_str).unwrap_or_default();
        if let Some((_, least, most)) = RANGES.into_iter().find(|(name, ..)| *name == format) {
            fields.entry("minimum").or_insert(least.into());
            fields.entry("maximum").or_insert(most.into());
        }
        if fields.get("default") == Some(&Value::Null) {
            fields.remove("default");
        }
    });
}

/// Normalizes the schema of an answer and those inside it. An answer always states its fields, so defaults say nothing. A
/// field that can be left out is never null.
fn normalize_answer(schema: &mut Value) {
    each_schema(schema, &mut |fields| {
        let required = fields.get("required").cloned().unwrap_or_default();
        let is_required =
            |name: &str| required.as_array().is_some_and(|all| all.contains(&name.into()));
        let properties = fields.get_mut("properties").and_then(Value::as_object_mut);
        for (name, property) in properties.into_iter().flatten() {
            if let Some(property) = property.as_object_mut() {
                property.remove("default");
            }
            if !is_required(name) {
                remove_null(property);
            }
        }
    });
}

/// Calls a function for each object in a schema, and joins the lines of descriptions.
fn each_schema(schema: &mut Value, change: &mut impl FnMut(&mut Map<String, Value>)) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::String(text)) = fields.get_mut("description") {
                *text = text.replace('\n', " ");
            }
            change(fields);
            fields.values_mut().for_each(|schema| each_schema(schema, change));
        }
        Value::Array(schemas) => schemas.iter_mut().for_each(|schema| each_schema(schema, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Removes null from the values of a parameter: a client leaves an optional parameter out.
fn remove_null(schema: &mut Value) {
    for key in ["type", "enum"] {
        if let Some(values) = schema.get_mut(key).and_then(Value::as_array_mut) {
            values.retain(|value| !value.is_null() && value != "null");
        }
    }
    let only =
        schema["type"].as_array().filter(|types| types.len() == 1).map(|types| types[0].clone());
    if let Some(only) = only {
        schema["type"] = only;
    }
}
