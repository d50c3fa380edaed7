//! The codes of refusals, with their status. `docs/reference/api.md` describes them; a test compares the two.

/// Codes by status.
pub(super) const CODES: &[(u16, &[&str])] = &[
    (400, &["bad_request", "other_protocol", "bad_reuse", "tls_needed"]),
    (
        401,
        &[
            "no_token",
            "wrong_token",
            "expired_token",
            "revoked_token",
            "no_worker_secret",
            "revoked_worker",
        ],
    ),
    (403, &["wrong_scope", "other_worker", "wrong_origin"]),
    (
        404,
        &[
            "not_found",
            "no_such_run",
            "no_such_step",
            "no_such_worker",
            "no_such_token",
            "no_such_object",
        ],
    ),
    (405, &["method_not_allowed"]),
    (408, &["too_slow"]),
    (
        409,
        &[
            "stale",
            "other_outcome",
            "key_conflict",
            "run_ended",
            "run_exists",
            "run_not_ended",
            "nothing_failed",
            "lock_not_held",
            "token_exists",
            "own_worker",
            "not_this_life",
            "refused",
            "object_offset",
        ],
    ),
    (410, &["gone"]),
    (413, &["too_large"]),
    (414, &["url_too_long"]),
    (416, &["no_such_range"]),
    (421, &["wrong_host"]),
    (
        422,
        &[
            "bad_pipeline",
            "bad_params",
            "other_plan",
            "object_mismatch",
            "object_limit",
            "damaged_piece",
        ],
    ),
    (
        429,
        &[
            "too_many_requests",
            "too_many_demands",
            "too_many_locks",
            "too_many_runs",
            "too_many_steps",
            "too_many_tokens",
        ],
    ),
    (500, &["store_failed", "failed", "cannot_lead", "no_chance", "object_damaged"]),
    (501, &["no_objects"]),
    (503, &["not_leader", "too_many_streams", "ending", "stalled", "behind"]),
    (504, &["objects_slow"]),
];

/// Refusals of any request.
pub(super) const ANY: &[&str] = &[
    "bad_request",
    "wrong_origin",
    "url_too_long",
    "wrong_host",
    "too_many_requests",
    "store_failed",
];

/// Refusals of a request that needs a credential.
pub(super) const AUTHORIZED: &[&str] =
    &["other_protocol", "no_token", "wrong_token", "expired_token", "revoked_token", "wrong_scope"];

/// Refusals of a request that needs the secret of a worker.
pub(super) const WORKER: &[&str] = &["no_worker_secret", "revoked_worker", "other_worker"];

/// Refusals of a request with a body.
pub(super) const BODY: &[&str] = &["too_slow", "too_large"];

/// Refusals of a request that only the leader answers.
pub(super) const LEADER: &[&str] = &["not_leader"];

/// Refusals of a request about objects.
pub(super) const OBJECTS: &[&str] = &["no_objects", "objects_slow", "not_leader", "object_limit"];

/// The status of a code.
pub(super) fn status(code: &str) -> Option<u16> {
    let with = |(_, codes): &&(u16, &[&str])| codes.contains(&code);
    CODES.iter().find(with).map(|(status, _)| *status)
}
