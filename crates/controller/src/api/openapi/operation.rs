//! What is said of one route.

#![expect(
    clippy::needless_pass_by_value,
    reason = "a schema is made to be put into another, or into the document"
)]

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use windlass_core::access::AccessScope;

use super::codes;
use super::schema::text;
use crate::api::routes::RouteAccess;

/// One route, described.
#[derive(Clone, Debug)]
pub(super) struct OpenApiOperation {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    summary: &'static str,
    /// Parameters, each with where it stands.
    pub(super) parameters: Vec<Value>,
    body: Option<Value>,
    answers: BTreeMap<u16, Value>,
    /// Of refusals.
    pub(super) codes: Vec<&'static str>,
}

/// Something that is read.
pub(super) fn get(path: &'static str, summary: &'static str) -> OpenApiOperation {
    OpenApiOperation::new("get", path, summary)
}

/// Something that is done.
pub(super) fn post(path: &'static str, summary: &'static str) -> OpenApiOperation {
    OpenApiOperation::new("post", path, summary).refuses(codes::BODY).refuses(codes::DECIDED)
}

impl OpenApiOperation {
    fn new(method: &'static str, path: &'static str, summary: &'static str) -> Self {
        let (answers, codes) = (BTreeMap::new(), codes::ANY.to_vec());
        Self { method, path, summary, parameters: Vec::new(), body: None, answers, codes }
    }

    /// A part of the path.
    pub(super) fn part(self, name: &str, schema: Value, about: &str) -> Self {
        self.parameter("path", name, schema, about)
    }

    /// A parameter behind the path.
    pub(super) fn query(self, name: &str, schema: Value, about: &str) -> Self {
        self.parameter("query", name, schema, about)
    }

    /// A parameter behind the path that has to be there.
    pub(super) fn needed(self, name: &str, schema: Value, about: &str) -> Self {
        let mut operation = self.query(name, schema, about);
        if let Some(parameter) = operation.parameters.last_mut() {
            parameter["required"] = true.into();
        }
        operation
    }

    /// A header that means something here.
    pub(super) fn header(self, name: &str, schema: Value, about: &str) -> Self {
        self.parameter("header", name, schema, about)
    }

    fn parameter(mut self, place: &str, name: &str, schema: Value, about: &str) -> Self {
        self.parameters.push(json!({
            "in": place, "name": name, "required": place == "path",
            "schema": schema, "description": about,
        }));
        self
    }

    /// The body that it takes, which is JSON.
    pub(super) fn takes(mut self, schema: Value) -> Self {
        let content = json!({ "application/json": { "schema": schema } });
        self.body = Some(json!({ "required": true, "content": content }));
        self
    }

    /// The same body, which may also be left out.
    pub(super) fn may_take(self, schema: Value) -> Self {
        let mut operation = self.takes(schema);
        if let Some(body) = &mut operation.body {
            body["required"] = false.into();
        }
        operation
    }

    /// The body that it takes, in a form of windlass's own.
    pub(super) fn takes_bytes(mut self) -> Self {
        let content = json!({ "application/octet-stream": {} });
        self.body = Some(json!({ "required": true, "content": content }));
        self
    }

    /// JSON that it answers.
    pub(super) fn answers(self, status: u16, about: &str, schema: Value) -> Self {
        self.answers_as(status, about, "application/json", schema)
    }

    /// Something else that it answers.
    pub(super) fn answers_as(
        mut self,
        status: u16,
        about: &str,
        kind: &str,
        schema: Value,
    ) -> Self {
        let answer = self
            .answers
            .entry(status)
            .or_insert_with(|| json!({ "description": about, "content": {} }));
        answer["content"][kind] = json!({ "schema": schema });
        self
    }

    /// An answer without a body.
    pub(super) fn answers_nothing(mut self, status: u16, about: &str) -> Self {
        self.answers.insert(status, json!({ "description": about }));
        self
    }

    /// Codes of refusals, beside those that any request gets.
    pub(super) fn refuses(mut self, codes: &[&'static str]) -> Self {
        self.codes.extend(codes);
        self
    }

    /// As the document has it, for a route that needs this.
    pub(super) fn document(mut self, needs: RouteAccess) -> Value {
        self.codes.extend(match needs {
            RouteAccess::Nothing => Vec::new(),
            RouteAccess::Scope(AccessScope::Worker) | RouteAccess::WorkerSecret => {
                [codes::GUARDED, codes::SECRET].concat()
            }
            RouteAccess::Scope(_) => codes::GUARDED.to_vec(),
        });
        let mut described = json!({
            "operationId": self.id(),
            "summary": self.summary,
            "security": security(needs),
            "responses": self.responses(),
        });
        if !self.parameters.is_empty() {
            described["parameters"] = self.parameters.into();
        }
        if let Some(body) = self.body {
            described["requestBody"] = body;
        }
        described
    }

    /// `get /runs/{run}/events` → `get_runs_run_events`
    fn id(&self) -> String {
        let words = self.path.split(['/', '{', '}', '.']).filter(|word| !word.is_empty());
        std::iter::once(self.method).chain(words).collect::<Vec<_>>().join("_")
    }

    fn responses(&self) -> Map<String, Value> {
        let answers =
            self.answers.iter().map(|(status, answer)| (status.to_string(), answer.clone()));
        let mut refusals: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
        for code in &self.codes {
            let status = codes::status(code).expect("a test looks every code up");
            let listed = refusals.entry(status).or_default();
            if !listed.contains(code) {
                listed.push(code);
            }
        }
        let refusals =
            refusals.into_iter().map(|(status, codes)| (status.to_string(), refusal(&codes)));
        answers.chain(self.unchanged()).chain(refusals).collect()
    }

    /// What a document answers who has it already.
    fn unchanged(&self) -> Option<(String, Value)> {
        let about = "It is what `if-none-match` named, the `etag` of an earlier answer";
        let document = self.method == "get" && self.answers.contains_key(&200);
        document.then(|| ("304".to_owned(), json!({ "description": about })))
    }
}

fn refusal(codes: &[&str]) -> Value {
    let problem = json!({ "allOf": [
        { "$ref": "#/components/schemas/Problem" },
        { "properties": { "code": { "enum": codes } } },
    ] });
    json!({
        "description": format!("Refused: {}", codes.join(", ")),
        "content": { "application/problem+json": { "schema": problem } },
    })
}

/// The requirements that a request has to meet. A controller without tokens asks for none.
fn security(needs: RouteAccess) -> Value {
    match needs {
        RouteAccess::Nothing => json!([]),
        // Who has joined before needs no token to join again.
        RouteAccess::Scope(AccessScope::Worker) => {
            json!([{ "token": ["worker"] }, { "worker": [] }])
        }
        RouteAccess::Scope(scope) => json!([{ "token": [scope.to_string()] }]),
        RouteAccess::WorkerSecret => json!([{ "worker": [] }]),
    }
}

/// The id of a run, as requests may write it.
pub(super) fn run_part(operation: OpenApiOperation) -> OpenApiOperation {
    operation
        .part("run", text(), "An id, the beginning of one, or `latest`")
        .refuses(&["no_such_run"])
}
