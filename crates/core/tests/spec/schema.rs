//! The JSON Schema comes from the tables that check the file.

use serde_json::Value;
use windlass_core::spec::pipeline_json_schema;

#[test]
fn every_key_is_described() {
    let schema = pipeline_json_schema();
    let defs = schema["$defs"].as_object().expect("there are definitions");
    let names: Vec<&str> = defs.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "artifacts",
            "defaults",
            "fetch",
            "lock",
            "matrix",
            "need",
            "nodes",
            "param",
            "reports",
            "retry",
            "step",
            "workspace"
        ]
    );
    for object in defs.values().chain([&schema]) {
        for (key, value) in object["properties"].as_object().expect("an object has keys") {
            assert!(value["description"].as_str().is_some_and(|text| text.len() > 8), "{key}");
        }
    }
    let image = &schema["$defs"]["step"]["properties"]["image"]["description"];
    assert!(image.as_str().is_some_and(|text| text.ends_with("(not available yet)")));
}

#[test]
fn every_reference_has_a_target() {
    let schema = pipeline_json_schema();
    let text = schema.to_string();
    for reference in text.split("\"#/$defs/").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(schema["$defs"].get(reference).is_some_and(Value::is_object), "{reference}");
    }
}
