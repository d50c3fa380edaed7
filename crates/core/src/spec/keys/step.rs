//! The keys of a step, and those of them that can have a default.

use super::key_spec::{KeySpec, ObjectKeys, unavailable_key};
use super::{
    files, step_order as order, step_placement as placement, step_result as result,
    step_work as work,
};

/// A step.
pub(crate) const STEP: ObjectKeys = ObjectKeys {
    name: "step",
    path: "steps.NAME",
    intro: "\
A step has exactly one of `run` and `call`. All other keys are optional. [`defaults`](#keys-of-defaults) can set the keys
that are listed there for all steps.",
    keys: STEP_KEYS,
    rest: None,
};

/// Settings of every step that does not set them itself.
pub(crate) const DEFAULTS: ObjectKeys = ObjectKeys {
    name: "defaults",
    path: "defaults",
    intro: "\
These keys mean the same as in a step. Expressions in them can read `params` and, where a step can, `run`;
`matrix` and `steps` have values inside a step only.",
    keys: DEFAULT_KEYS,
    rest: None,
};

const STEP_KEYS: &[KeySpec] = &[
    work::ABOUT,
    work::RUN,
    work::CALL,
    work::WITH,
    order::NEEDS,
    order::MATRIX_KEY,
    order::IF,
    work::ENV,
    work::SECRETS,
    work::OUTPUTS,
    order::TAGS,
    work::SHELL,
    work::DIR,
    result::TIMEOUT,
    result::RETRY_KEY,
    placement::REQUIRES,
    placement::PREFERS,
    placement::PRIORITY,
    order::LOCK_KEY,
    placement::PIN,
    placement::NODES_KEY,
    placement::PER_WORKER,
    result::IGNORE_FAILURE,
    order::IDEMPOTENT,
    result::ON_LOST_CONTACT,
    placement::WAIT_FOR_WORKER,
    order::WAIT_FOR_LOCK,
    result::KILL_GRACE,
    result::REPORTS_KEY,
    IMAGE,
    unavailable_key("http", "HTTP request to send instead of a command")
        .foreign_names(&["request", "webhook"]),
    unavailable_key("inputs", "Files that the step reads: if unchanged, the outcome is reused")
        .foreign_names(&["sources"]),
    CACHE,
    files::ARTIFACTS_KEY,
    files::FETCH_KEY,
    unavailable_key("loop", "Repetition of a group of steps until a condition holds")
        .foreign_names(&["repeat", "until"]),
];

const DEFAULT_KEYS: &[KeySpec] = &[
    work::ENV,
    work::SECRETS,
    work::SHELL,
    work::DIR,
    result::TIMEOUT,
    result::RETRY_KEY,
    placement::REQUIRES,
    placement::PREFERS,
    placement::PRIORITY,
    result::IGNORE_FAILURE,
    result::ON_LOST_CONTACT,
    placement::WAIT_FOR_WORKER,
    order::WAIT_FOR_LOCK,
    result::KILL_GRACE,
    placement::NODES_KEY,
    order::TAGS,
    IMAGE,
    CACHE,
];

const IMAGE: KeySpec = unavailable_key("image", "Container image in which the step runs")
    .foreign_names(&["container", "docker"]);
const CACHE: KeySpec =
    unavailable_key("cache", "Folders that are kept from run to run").foreign_names(&["caches"]);
