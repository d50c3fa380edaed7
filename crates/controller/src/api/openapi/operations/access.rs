//! Operations of an administrator: tokens, credentials of workers, locks, the audit trail.

use windlass_core::id::TokenId;
use windlass_core::report::AuditEntryJson;
use windlass_link::http::{CreateTokenBody, CreatedTokenBody, ReleaseLockBody, ReleasedLockBody};

use crate::api::id_body::IdBody;
use crate::api::openapi::operation::{OpenApiOperation, get, post};
use crate::api::tokens::TokenBody;

pub(super) fn operations() -> Vec<OpenApiOperation> {
    vec![
        get("/tokens", "List all stored tokens, oldest first")
            .answers::<Vec<TokenBody<'_>>>(200, "The tokens, without their secrets"),
        post("/tokens", "Create a token")
            .takes::<CreateTokenBody>()
            .answers::<CreatedTokenBody>(201, "The token. No other answer contains its secret")
            .refuses(&["token_exists", "too_many_tokens", "no_chance"]),
        post("/tokens/{id}/revoke", "Revoke a token, at once")
            .part::<String>("id", "The id or the name of the token")
            .answers::<IdBody<TokenId>>(200, "The token is revoked")
            .refuses(&["no_such_token"]),
        post("/workers/{id}/revoke", "Revoke the credential of a worker, at once and for good")
            .part::<String>("id", "The name or the number of the worker")
            .answers::<IdBody<u64>>(200, "The credential is revoked, and the worker has to stop")
            .refuses(&["no_such_worker", "own_worker"]),
        post("/locks/{name}/release", "Release the lock of a lease by force")
            .part::<String>("name", "The name of the lock")
            .may_take::<ReleaseLockBody>()
            .answers::<ReleasedLockBody>(200, "The lock is released")
            .refuses(&["lock_not_held"]),
        get("/audit", "List the last 1,000 requested changes, newest first")
            .answers::<Vec<AuditEntryJson<'_>>>(200, "The changes"),
    ]
}
