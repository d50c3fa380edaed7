//! `GET /openapi.json`: the description of the API in OpenAPI 3.1.
//!
//! The document is made of the table of routes, of one operation for each route, and of the types that handlers use for
//! parameters and bodies. Comments of these types are the descriptions in the document.
//!
//! Tests fail if a route has no operation or an operation has no route, if a refusal is not in `docs/reference/api.md`, and
//! if an answer of a live controller does not match its schema.
//!
//! | file | content |
//! |---|---|
//! | `document` | the document, and the handler that sends it |
//! | `operation` | the description of one route |
//! | `operations` | the table of operations |
//! | `schemas` | the schemas of types |
//! | `codes` | the codes of refusals, with their status |

mod codes;
mod content;
mod document;
mod operation;
mod operations;
mod schemas;
#[cfg(test)]
mod tests;

pub(super) use document::show;
