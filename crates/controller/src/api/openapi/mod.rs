//! `GET /openapi.json`: the API described for programs, in OpenAPI 3.1.
//!
//! The document is made of the table of routes: every route has its operation here, and what a route needs becomes what the
//! document asks for. A route without a description fails a test, and so does a description without a route, a refusal that
//! `docs/reference/api.md` does not know, and an answer of a live controller that is not as its schema says.
//!
//! | file | what it has |
//! |---|---|
//! | `document` | all of it put together, and how it is served |
//! | `operation` | what is said of one route, in the words that `operations` uses |
//! | `operations` | what is said of each |
//! | `codes` | every refusal: its code, its status |
//! | `schema` | small words for JSON Schema |
//! | `schemas` | what answers are made of |

mod codes;
mod document;
mod operation;
mod operations;
mod schema;
mod schemas;
#[cfg(test)]
mod tests;

pub(super) use document::show;
