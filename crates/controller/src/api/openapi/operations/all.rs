//! All operations.

use super::{access, cluster, objects, plain_worker, runs, sessions};
use crate::api::openapi::operation::OpenApiOperation;

/// The operations of all routes.
pub(in crate::api::openapi) fn operations() -> Vec<OpenApiOperation> {
    let kinds = [
        access::operations(),
        cluster::operations(),
        runs::operations(),
        objects::operations(),
        plain_worker::operations(),
        sessions::operations(),
    ];
    kinds.into_iter().flatten().collect()
}
