//! The document.

use std::sync::LazyLock;

use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use windlass_net::http::WORKER_HEADER;

use super::operation::OpenApiOperation;
use super::operations::operations;
use super::schemas::OpenApiSchemas;
use crate::api::routes::routes;

/// The text of the document, which does not change while the process runs.
static DOCUMENT: LazyLock<String> = LazyLock::new(|| document().to_string());

/// `GET /openapi.json`
pub(in crate::api) async fn show() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT.as_str()).into_response()
}

/// Makes the document.
pub(super) fn document() -> Value {
    let mut schemas = OpenApiSchemas::new();
    let paths = paths(&mut schemas);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "windlass",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "The API of a controller: runs and their events, workers, locks and the queue.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "paths": paths,
        "components": { "schemas": schemas.into_components(), "securitySchemes": security_schemes() },
    })
}

fn paths(schemas: &mut OpenApiSchemas) -> Map<String, Value> {
    let mut paths = Map::new();
    let described = operations();
    for route in routes() {
        let is_it = |operation: &&OpenApiOperation| {
            (operation.method, operation.path) == (route.method(), route.path)
        };
        let Some(operation) = described.iter().find(is_it) else { continue };
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method()] = operation.clone().document(route.needs, schemas);
    }
    paths
}

fn security_schemes() -> Value {
    json!({
        "token": {
            "type": "http", "scheme": "bearer",
            "description": "A token with the scope. A controller without tokens requires none.",
        },
        "worker": {
            "type": "apiKey", "in": "header", "name": WORKER_HEADER,
            "description": "The secret of a worker, which identifies it.",
        },
    })
}
