//! Bodies and answers of an operation.

use serde_json::{Value, json};
use windlass_core::access::AccessScope;

use super::schemas::{OpenApiSchemas, SchemaOf};
use crate::api::routes::RouteAccess;

/// The body of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenApiBody {
    pub(super) is_required: bool,
    pub(super) content: OpenApiContent,
}

/// An answer that is no refusal.
#[derive(Clone, Debug)]
pub(super) struct OpenApiAnswer {
    pub(super) about: &'static str,
    pub(super) contents: Vec<OpenApiContent>,
}

/// Content of a body.
#[derive(Clone, Copy, Debug)]
pub(super) enum OpenApiContent {
    /// JSON of this type.
    Json(SchemaOf),
    /// JSON whose form is internal to windlass.
    Internal,
    /// Text with this content type.
    Text(&'static str),
    /// Bytes with this content type.
    Bytes(&'static str),
}

impl OpenApiAnswer {
    pub(super) fn document(&self, schemas: &mut OpenApiSchemas) -> Value {
        let mut answer = json!({ "description": self.about });
        for content in &self.contents {
            let (kind, media) = content.media(|schema| schemas.answer(schema));
            answer["content"][kind] = media;
        }
        answer
    }
}

impl OpenApiContent {
    /// The content type with its media type object.
    pub(super) fn media(self, schema: impl FnOnce(SchemaOf) -> Value) -> (&'static str, Value) {
        match self {
            Self::Json(of) => ("application/json", json!({ "schema": schema(of) })),
            Self::Internal => ("application/json", json!({ "schema": {} })),
            Self::Text(kind) => (kind, json!({ "schema": { "type": "string" } })),
            Self::Bytes(kind) => (kind, json!({ "schema": {} })),
        }
    }
}

pub(super) fn refusal(codes: &[&str], problem: &Value) -> Value {
    let problem = json!({ "allOf": [problem, { "properties": { "code": { "enum": codes } } }] });
    json!({
        "description": format!("Refused: {}", codes.join(", ")),
        "content": { "application/problem+json": { "schema": problem } },
    })
}

/// The credentials that a request needs. A controller without tokens requires none.
pub(super) fn security(needs: RouteAccess) -> Value {
    match needs {
        RouteAccess::Nothing => json!([]),
        // A worker that has joined before needs no token to join again.
        RouteAccess::Scope(AccessScope::Worker) => {
            json!([{ "token": ["worker"] }, { "worker": [] }])
        }
        RouteAccess::Scope(scope) => json!([{ "token": [scope.to_string()] }]),
        RouteAccess::WorkerOrScope(scope) => {
            json!([{ "worker": [] }, { "token": [scope.to_string()] }])
        }
        RouteAccess::WorkerSecret => json!([{ "worker": [] }]),
    }
}
