//! The description of one route.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde_json::{Map, Value, json};
use windlass_core::access::AccessScope;
use windlass_net::http::ProblemDetails;

use super::codes;
use super::content::{OpenApiAnswer, OpenApiBody, OpenApiContent, refusal, security};
use super::schemas::{OpenApiSchemas, SchemaOf, schema_of};
use crate::api::routes::RouteAccess;

/// The description of one route. Bodies and parameters are named by the types that the handler uses.
#[derive(Clone, Debug)]
pub(super) struct OpenApiOperation {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    summary: &'static str,
    pub(super) parameters: Vec<OpenApiParameter>,
    query: Option<SchemaOf>,
    body: Option<OpenApiBody>,
    answers: BTreeMap<u16, OpenApiAnswer>,
    /// The codes of refusals.
    pub(super) codes: Vec<&'static str>,
}

/// A parameter in the path or in a header.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenApiParameter {
    /// `path` or `header`.
    pub(super) location: &'static str,
    pub(super) name: &'static str,
    about: &'static str,
    schema: SchemaOf,
}

/// A route that reads.
pub(super) fn get(path: &'static str, summary: &'static str) -> OpenApiOperation {
    OpenApiOperation::new("get", path, summary)
}

/// A route that changes something.
pub(super) fn post(path: &'static str, summary: &'static str) -> OpenApiOperation {
    OpenApiOperation::new("post", path, summary).refuses(codes::BODY).refuses(codes::LEADER)
}

impl OpenApiOperation {
    fn new(method: &'static str, path: &'static str, summary: &'static str) -> Self {
        let (answers, codes) = (BTreeMap::new(), codes::ANY.to_vec());
        let (parameters, query, body) = (Vec::new(), None, None);
        Self { method, path, summary, parameters, query, body, answers, codes }
    }

    /// A part of the path.
    pub(super) fn part<T: JsonSchema>(self, name: &'static str, about: &'static str) -> Self {
        self.parameter::<T>("path", name, about)
    }

    /// A header.
    pub(super) fn header<T: JsonSchema>(self, name: &'static str, about: &'static str) -> Self {
        self.parameter::<T>("header", name, about)
    }

    fn parameter<T: JsonSchema>(
        mut self,
        location: &'static str,
        name: &'static str,
        about: &'static str,
    ) -> Self {
        self.parameters.push(OpenApiParameter { location, name, about, schema: schema_of::<T> });
        self
    }

    /// The parameters behind the path: the fields of this type.
    pub(super) fn query<T: JsonSchema>(self) -> Self {
        Self { query: Some(T::json_schema), ..self }
    }

    /// A body in JSON.
    pub(super) fn takes<T: JsonSchema>(self) -> Self {
        self.body(true, OpenApiContent::Json(schema_of::<T>))
    }

    /// A body in JSON that can be left out.
    pub(super) fn may_take<T: JsonSchema>(self) -> Self {
        self.body(false, OpenApiContent::Json(schema_of::<T>))
    }

    /// A message in JSON whose form is internal to windlass.
    pub(super) fn takes_message(self) -> Self {
        self.body(true, OpenApiContent::Internal)
    }

    /// A message in bytes whose form is internal to windlass.
    pub(super) fn takes_bytes(self) -> Self {
        self.body(true, OpenApiContent::Bytes("application/octet-stream"))
    }

    fn body(self, is_required: bool, content: OpenApiContent) -> Self {
        Self { body: Some(OpenApiBody { is_required, content }), ..self }
    }

    /// An answer in JSON.
    pub(super) fn answers<T: JsonSchema>(self, status: u16, about: &'static str) -> Self {
        self.answer(status, about, OpenApiContent::Json(schema_of::<T>))
    }

    /// A message in JSON whose form is internal to windlass.
    pub(super) fn answers_message(self, status: u16, about: &'static str) -> Self {
        self.answer(status, about, OpenApiContent::Internal)
    }

    /// An answer in text with this content type.
    pub(super) fn answers_text(self, status: u16, about: &'static str, kind: &'static str) -> Self {
        self.answer(status, about, OpenApiContent::Text(kind))
    }

    /// An answer in bytes with this content type.
    pub(super) fn answers_bytes(
        self,
        status: u16,
        about: &'static str,
        kind: &'static str,
    ) -> Self {
        self.answer(status, about, OpenApiContent::Bytes(kind))
    }

    /// An answer without a body.
    pub(super) fn answers_nothing(mut self, status: u16, about: &'static str) -> Self {
        self.answers.insert(status, OpenApiAnswer { about, contents: Vec::new() });
        self
    }

    fn answer(mut self, status: u16, about: &'static str, content: OpenApiContent) -> Self {
        let none = || OpenApiAnswer { about, contents: Vec::new() };
        self.answers.entry(status).or_insert_with(none).contents.push(content);
        self
    }

    /// Codes of refusals, besides those that any request can get.
    pub(super) fn refuses(mut self, codes: &[&'static str]) -> Self {
        self.codes.extend(codes);
        self
    }

    /// The operation in the document, for a route with this access rule.
    pub(super) fn document(mut self, needs: RouteAccess, schemas: &mut OpenApiSchemas) -> Value {
        self.codes.extend(match needs {
            RouteAccess::Nothing => Vec::new(),
            RouteAccess::Scope(AccessScope::Worker)
            | RouteAccess::WorkerOrScope(_)
            | RouteAccess::WorkerSecret => [codes::AUTHORIZED, codes::WORKER].concat(),
            RouteAccess::Scope(_) => codes::AUTHORIZED.to_vec(),
        });
        let mut described = json!({
            "operationId": self.id(),
            "summary": self.summary,
            "security": security(needs),
            "responses": self.responses(schemas),
        });
        let parameters = self.all_parameters(schemas);
        if !parameters.is_empty() {
            described["parameters"] = parameters.into();
        }
        if let Some(OpenApiBody { is_required, content }) = self.body {
            let (kind, media) = content.media(|schema| schemas.request(schema));
            described["requestBody"] =
                json!({ "required": is_required, "content": { kind: media } });
        }
        described
    }

    /// `get /runs/{run}/events` → `get_runs_run_events`
    fn id(&self) -> String {
        let words = self.path.split(['/', '{', '}', '.']).filter(|word| !word.is_empty());
        std::iter::once(self.method).chain(words).collect::<Vec<_>>().join("_")
    }

    fn all_parameters(&self, schemas: &mut OpenApiSchemas) -> Vec<Value> {
        let mut parameters = Vec::new();
        for OpenApiParameter { location, name, about, schema } in &self.parameters {
            parameters.push(json!({
                "in": location, "name": name, "required": *location == "path",
                "schema": schemas.request(*schema), "description": about,
            }));
        }
        parameters.extend(self.query.into_iter().flat_map(|query| schemas.query(query)));
        parameters
    }

    fn responses(&self, schemas: &mut OpenApiSchemas) -> Map<String, Value> {
        let mut responses = Map::new();
        for (status, answer) in &self.answers {
            responses.insert(status.to_string(), answer.document(schemas));
        }
        if self.method == "get" && self.answers.contains_key(&200) {
            let about = "The document has not changed: its `etag` is in `if-none-match`";
            responses.insert("304".to_owned(), json!({ "description": about }));
        }
        let problem = schemas.answer(schema_of::<ProblemDetails>);
        for (status, codes) in self.refusals() {
            responses.insert(status.to_string(), refusal(&codes, &problem));
        }
        responses
    }

    /// The codes of refusals by status.
    fn refusals(&self) -> BTreeMap<u16, Vec<&'static str>> {
        let mut refusals: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
        for code in &self.codes {
            let status = codes::status(code).expect("a test looks every code up");
            let listed = refusals.entry(status).or_default();
            if !listed.contains(code) {
                listed.push(code);
            }
        }
        refusals
    }
}

/// The part of the path that names a run.
pub(super) fn run_part(operation: OpenApiOperation) -> OpenApiOperation {
    let about = "The id of the run, a prefix of it, or `latest`";
    operation.part::<String>("run", about).refuses(&["no_such_run"])
}
