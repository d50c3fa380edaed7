//! The keys of a step, and those of them that can have a default.

use super::key_spec::{KeySpec, ObjectKeys, ValueShape, key, unavailable_key};
use super::objects::{LOCK, MATRIX, NEED, NODES, RETRY};
use crate::plan::{CLAUSES_MAX, LOCKS_MAX, NEEDS_MAX, REPEATS_MAX};
use crate::spec::limits::{ENV_MAX, OUTPUTS_MAX, SECRETS_MAX, TAGS_MAX};

/// A step.
pub(crate) const STEP: ObjectKeys = ObjectKeys { name: "step", keys: STEP_KEYS, rest: None };

/// Settings of every step that does not have its own.
pub(crate) const DEFAULTS: ObjectKeys =
    ObjectKeys { name: "defaults", keys: DEFAULT_KEYS, rest: None };

const ABOUT: KeySpec =
    key("about", ValueShape::Text, "One line on what it does, shown in plan and summary")
        .foreign_names(&["name", "description", "desc", "title", "label"]);
const RUN: KeySpec = key("run", ValueShape::Script, "The command").foreign_names(&[
    "script", "commands", "command", "cmd", "cmds", "exec", "sh", "bash", "steps",
]);
const CALL: KeySpec = key(
    "call",
    ValueShape::Text,
    "A step by name that is compiled into a worker's program, or built in: `noop`",
)
.foreign_names(&["uses", "use", "plugin"]);
const WITH: KeySpec = key(
    "with",
    ValueShape::Map(&ValueShape::Text),
    "Values that the step that is called gets, by name",
)
.entries_max(ENV_MAX)
.foreign_names(&["args", "arguments"]);
const NEEDS: KeySpec = key(
    "needs",
    ValueShape::OneOrMany(&ValueShape::ShortOrObject(&ValueShape::Name, &NEED)),
    "Steps that must have ended well before it begins",
)
.entries_max(NEEDS_MAX)
.foreign_names(&["depends_on", "depends", "deps", "dependencies", "after", "need"]);
const MATRIX_KEY: KeySpec = key(
    "matrix",
    ValueShape::ShortOrObject(&ValueShape::List(&ValueShape::Text), &MATRIX),
    "One step per target, or per combination of axes",
)
.foreign_names(&["strategy", "parallel", "foreach", "for", "across", "withItems"]);
const IF: KeySpec = key(
    "if",
    ValueShape::Condition,
    "Whether it runs: an expression, or `success()`, `failure()`, `always()`",
)
.foreign_names(&["when", "only", "condition", "rules", "unless"]);
const OUTPUTS: KeySpec = key(
    "outputs",
    ValueShape::OneOrMany(&ValueShape::Name),
    "Names that it writes to $WINDLASS_OUTPUT",
)
.entries_max(OUTPUTS_MAX)
.foreign_names(&["output"]);
const TAGS: KeySpec =
    key("tags", ValueShape::OneOrMany(&ValueShape::Name), "Words for selecting steps with --tag")
        .entries_max(TAGS_MAX)
        .foreign_names(&["tag", "groups"]);

const ENV: KeySpec = key("env", ValueShape::Map(&ValueShape::Text), "Environment variables")
    .entries_max(ENV_MAX)
    .foreign_names(&["environment", "variables", "vars"]);
const SECRETS: KeySpec = key(
    "secrets",
    ValueShape::OneOrMany(&ValueShape::Name),
    "Secrets that it gets as variables; their values are masked",
)
.entries_max(SECRETS_MAX)
.foreign_names(&["secret"]);
const SHELL: KeySpec = key("shell", ValueShape::Text, "What runs the command; `sh` if left out")
    .foreign_names(&["interpreter"]);
const DIR: KeySpec = key("dir", ValueShape::Text, "Where it runs, from the root of the pipeline")
    .foreign_names(&["working-directory", "working_dir", "workdir", "cwd", "directory"]);
const TIMEOUT: KeySpec =
    key("timeout", ValueShape::PositiveDuration, "The longest that one attempt may run")
        .foreign_names(&[
            "timeout-minutes",
            "timeout_sec",
            "timeout_seconds",
            "time_limit",
            "activeDeadlineSeconds",
        ]);
const RETRY_KEY: KeySpec = key(
    "retry",
    ValueShape::ShortOrObject(&ValueShape::Number(0, REPEATS_MAX as i64), &RETRY),
    "Attempts after the first, or how to try again",
)
.foreign_names(&["retries", "attempts", "retryStrategy"]);
const REQUIRES: KeySpec = key(
    "requires",
    ValueShape::OneOrMany(&ValueShape::Requirement),
    "What a worker must be or have",
)
.entries_max(CLAUSES_MAX)
.foreign_names(&["runs-on", "labels", "capabilities", "require", "nodeSelector", "platforms"]);
const PREFERS: KeySpec = key(
    "prefers",
    ValueShape::OneOrMany(&ValueShape::Requirement),
    "What a worker had better be or have",
)
.entries_max(CLAUSES_MAX)
.foreign_names(&["prefer", "preferred"]);
const PRIORITY: KeySpec =
    key("priority", ValueShape::Number(-1_000_000, 1_000_000), "Greater goes first")
        .foreign_names(&["prio", "weight"]);
const LOCK_KEY: KeySpec = key(
    "lock",
    ValueShape::OneOrMany(&ValueShape::ShortOrObject(&ValueShape::Text, &LOCK)),
    "What it holds while it runs, one at a time",
)
.entries_max(LOCKS_MAX)
.foreign_names(&[
    "locks",
    "concurrency",
    "resource_group",
    "mutex",
    "semaphore",
    "serial",
    "serial_groups",
    "synchronization",
]);
const PIN: KeySpec = key("pin", ValueShape::OneOfWords(&["leader"]), "Runs on the leading node")
    .foreign_names(&["on"]);
const NODES_KEY: KeySpec =
    key("nodes", ValueShape::Object(&NODES), "Workers that may or may not run it, by name")
        .foreign_names(&["node", "hosts"]);
const PER_WORKER: KeySpec = key(
    "per_worker",
    ValueShape::Number(1, 1_000_000),
    "The most of this step, cells included, that one worker runs at a time, over all runs of the pipeline",
)
.foreign_names(&["max-parallel"]);
const IGNORE_FAILURE: KeySpec =
    key("ignore_failure", ValueShape::Flag, "Whether its failure leaves the run as it is")
        .foreign_names(&["continue-on-error", "allow_failure", "ignore_errors"]);
const IDEMPOTENT: KeySpec = key(
    "idempotent",
    ValueShape::IdempotencyKey,
    "The key under which it is done once: a success on record is taken over, in every run",
)
.foreign_names(&["idempotency_key", "once", "unique", "dedupe"]);
const ON_LOST_CONTACT: KeySpec = key(
    "on_lost_contact",
    ValueShape::OneOfWords(&["continue", "stop"]),
    "What a worker that has lost contact does with it",
);
const WAIT_FOR_WORKER: KeySpec =
    key("wait_for_worker", ValueShape::Duration, "How long it waits while no worker could run it");
const WAIT_FOR_LOCK: KeySpec = key(
    "wait_for_lock",
    ValueShape::Duration,
    "How long it waits for its locks, or for the key that another step is at",
);
const KILL_GRACE: KeySpec =
    key("kill_grace", ValueShape::Duration, "From the polite order to stop to the other one")
        .foreign_names(&["grace", "grace_period", "stop_timeout"]);

const STEP_KEYS: &[KeySpec] = &[
    ABOUT,
    RUN,
    CALL,
    WITH,
    NEEDS,
    MATRIX_KEY,
    IF,
    ENV,
    SECRETS,
    OUTPUTS,
    TAGS,
    SHELL,
    DIR,
    TIMEOUT,
    RETRY_KEY,
    REQUIRES,
    PREFERS,
    PRIORITY,
    LOCK_KEY,
    PIN,
    NODES_KEY,
    PER_WORKER,
    IGNORE_FAILURE,
    IDEMPOTENT,
    ON_LOST_CONTACT,
    WAIT_FOR_WORKER,
    WAIT_FOR_LOCK,
    KILL_GRACE,
    unavailable_key("image", "The container image that it runs in")
        .foreign_names(&["container", "docker"]),
    unavailable_key("http", "A request to send instead of a command")
        .foreign_names(&["request", "webhook"]),
    unavailable_key("inputs", "Files that it reads: unchanged, the recorded outcome is used again")
        .foreign_names(&["sources"]),
    unavailable_key("cache", "Folders that are kept from run to run").foreign_names(&["caches"]),
    unavailable_key("artifacts", "Files that the steps that need it get").foreign_names(&[
        "artefacts",
        "artifact",
        "uploads",
    ]),
    unavailable_key("fetch", "Which artifacts of its needs it gets"),
    unavailable_key("reports", "Test reports that it writes").foreign_names(&["report", "junit"]),
    unavailable_key("loop", "Repeats a group of steps until a condition holds")
        .foreign_names(&["repeat", "until"]),
];

const DEFAULT_KEYS: &[KeySpec] = &[
    ENV,
    SECRETS,
    SHELL,
    DIR,
    TIMEOUT,
    RETRY_KEY,
    REQUIRES,
    PREFERS,
    PRIORITY,
    IGNORE_FAILURE,
    ON_LOST_CONTACT,
    WAIT_FOR_WORKER,
    WAIT_FOR_LOCK,
    KILL_GRACE,
    NODES_KEY,
    TAGS,
    unavailable_key("image", "The container image that steps run in")
        .foreign_names(&["container", "docker"]),
    unavailable_key("cache", "Folders that are kept from run to run").foreign_names(&["caches"]),
];
