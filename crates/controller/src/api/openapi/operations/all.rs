//! All of them.

use super::{access, cluster, plain_worker, runs, sessions};
use crate::api::openapi::operation::OpenApiOperation;

/// Every operation that is described.
pub(in crate::api::openapi) fn operations() -> Vec<OpenApiOperation> {
    let kinds = [
        access::operations(),
        cluster::operations(),
        runs::operations(),
        plain_worker::operations(),
        sessions::operations(),
    ];
    kinds.into_iter().flatten().collect()
}
