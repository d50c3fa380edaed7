//! All of it put together.

use std::sync::LazyLock;

use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use windlass_net::http::WORKER_HEADER;

use super::operation::OpenApiOperation;
use super::operations::operations;
use super::schemas::schemas;
use crate::api::routes::routes;

/// It is the same for every request of a process.
static DOCUMENT: LazyLock<String> = LazyLock::new(|| document().to_string());

/// `GET /openapi.json`
pub(in crate::api) async fn show() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT.as_str()).into_response()
}

/// The document.
pub(super) fn document() -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "windlass",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "The API of a controller: runs, what happens in them, workers, locks and the queue.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "paths": paths(),
        "components": { "schemas": schemas(), "securitySchemes": security_schemes() },
    })
}

fn paths() -> Map<String, Value> {
    let mut paths = Map::new();
    let described = operations();
    for route in routes() {
        let is_it = |operation: &&OpenApiOperation| {
            (operation.method, operation.path) == (route.method(), route.path)
        };
        let Some(operation) = described.iter().find(is_it) else { continue };
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method()] = operation.clone().document(route.needs);
    }
    paths
}

fn security_schemes() -> Value {
    json!({
        "token": {
            "type": "http", "scheme": "bearer",
            "description": "A token that has the scope. A controller without tokens asks for none.",
        },
        "worker": {
            "type": "apiKey", "in": "header", "name": WORKER_HEADER,
            "description": "The secret that a worker got when it registered: it speaks for itself alone.",
        },
    })
}
