//! All of them.

use super::{access, cluster, foreign, runs, sessions};
use crate::controller::api::openapi::operation::Operation;

/// Every operation that is described.
pub(in crate::controller::api::openapi) fn operations() -> Vec<Operation> {
    let kinds = [
        access::operations(),
        cluster::operations(),
        runs::operations(),
        foreign::operations(),
        sessions::operations(),
    ];
    kinds.into_iter().flatten().collect()
}
