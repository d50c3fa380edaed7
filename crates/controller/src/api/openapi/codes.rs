//! Every refusal: its code, its status. The table in `docs/reference/api.md` says when; a test holds one against the other.

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
    (404, &["not_found", "no_such_run", "no_such_step", "no_such_worker", "no_such_token"]),
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
        ],
    ),
    (410, &["gone"]),
    (413, &["too_large"]),
    (414, &["url_too_long"]),
    (416, &["no_such_range"]),
    (421, &["wrong_host"]),
    (422, &["bad_pipeline", "bad_params", "other_plan"]),
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
    (500, &["store_failed", "failed", "cannot_lead", "no_chance"]),
    (503, &["not_leader", "too_many_streams", "ending", "stalled", "behind"]),
];

/// What any request may be told.
pub(super) const ANY: &[&str] = &[
    "bad_request",
    "wrong_origin",
    "url_too_long",
    "wrong_host",
    "too_many_requests",
    "store_failed",
];

/// What whoever has to show something may be told.
pub(super) const GUARDED: &[&str] =
    &["other_protocol", "no_token", "wrong_token", "expired_token", "revoked_token", "wrong_scope"];

/// What a worker may be told that shows no secret, or another's.
pub(super) const SECRET: &[&str] = &["no_worker_secret", "revoked_worker", "other_worker"];

/// What a request with a body may be told.
pub(super) const BODY: &[&str] = &["too_slow", "too_large"];

/// What a request may be told that the leader decides on.
pub(super) const DECIDED: &[&str] = &["not_leader"];

/// The status of a code.
pub(super) fn status(code: &str) -> Option<u16> {
    let with = |(_, codes): &&(u16, &[&str])| codes.contains(&code);
    CODES.iter().find(with).map(|(status, _)| *status)
}
