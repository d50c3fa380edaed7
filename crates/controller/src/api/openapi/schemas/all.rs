//! All of them, by name.

use serde_json::{Map, Value};

use super::{access, cluster, problem, runs};

/// The schemas that others refer to.
pub(in crate::api::openapi) fn schemas() -> Map<String, Value> {
    let kinds = [access::schemas(), runs::schemas(), cluster::schemas(), problem::schemas()];
    let named = kinds.into_iter().flatten();
    named.map(|(name, schema)| (name.to_owned(), schema)).collect()
}
