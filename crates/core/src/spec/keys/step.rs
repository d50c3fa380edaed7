//! The keys of a step, and those of them that can have a default.

use super::objects::{LOCK, MATRIX, NEED, NODES, RETRY};
use super::table::{Key, Object, Shape, key, not_yet};
use crate::plan::{CLAUSES_MAX, LOCKS_MAX, NEEDS_MAX, REPEATS_MAX};
use crate::spec::limits::{ENV_MAX, OUTPUTS_MAX, SECRETS_MAX, TAGS_MAX};

/// A step.
pub(crate) const STEP: Object = Object { name: "step", keys: STEP_KEYS, rest: None };

/// Settings of every step that does not have its own.
pub(crate) const DEFAULTS: Object = Object { name: "defaults", keys: DEFAULT_KEYS, rest: None };

const ABOUT: Key = key("about", Shape::Text, "One line on what it does, shown in plan and summary")
    .foreign(&["name", "description", "desc", "title", "label"]);
const RUN: Key = key("run", Shape::Script, "The command")
    .foreign(&["script", "commands", "command", "cmd", "cmds", "exec", "sh", "bash", "steps"]);
const CALL: Key = key(
    "call",
    Shape::Text,
    "A step by name that is compiled into a worker's program, or built in: `noop`",
)
.foreign(&["uses", "use", "plugin"]);
const WITH: Key =
    key("with", Shape::Map(&Shape::Text), "Values that the step that is called gets, by name")
        .most(ENV_MAX)
        .foreign(&["args", "arguments"]);
const NEEDS: Key = key(
    "needs",
    Shape::Many(&Shape::Grows(&Shape::Name, &NEED)),
    "Steps that must have ended well before it begins",
)
.most(NEEDS_MAX)
.foreign(&["depends_on", "depends", "deps", "dependencies", "after", "need"]);
const MATRIX_KEY: Key = key(
    "matrix",
    Shape::Grows(&Shape::List(&Shape::Text), &MATRIX),
    "One step per target, or per combination of axes",
)
.foreign(&["strategy", "parallel", "foreach", "for", "across", "withItems"]);
const IF: Key = key(
    "if",
    Shape::Condition,
    "Whether it runs: an expression, or `success()`, `failure()`, `always()`",
)
.foreign(&["when", "only", "condition", "rules", "unless"]);
const OUTPUTS: Key =
    key("outputs", Shape::Many(&Shape::Name), "Names that it writes to $WINDLASS_OUTPUT")
        .most(OUTPUTS_MAX)
        .foreign(&["output"]);
const TAGS: Key = key("tags", Shape::Many(&Shape::Name), "Words for selecting steps with --tag")
    .most(TAGS_MAX)
    .foreign(&["tag", "groups"]);

const ENV: Key = key("env", Shape::Map(&Shape::Text), "Environment variables")
    .most(ENV_MAX)
    .foreign(&["environment", "variables", "vars"]);
const SECRETS: Key = key(
    "secrets",
    Shape::Many(&Shape::Name),
    "Secrets that it gets as variables; their values are masked",
)
.most(SECRETS_MAX)
.foreign(&["secret"]);
const SHELL: Key =
    key("shell", Shape::Text, "What runs the command; `sh` if left out").foreign(&["interpreter"]);
const DIR: Key = key("dir", Shape::Text, "Where it runs, from the root of the pipeline")
    .foreign(&["working-directory", "working_dir", "workdir", "cwd", "directory"]);
const TIMEOUT: Key =
    key("timeout", Shape::Limit, "The longest that one attempt may run").foreign(&[
        "timeout-minutes",
        "timeout_sec",
        "timeout_seconds",
        "time_limit",
        "activeDeadlineSeconds",
    ]);
const RETRY_KEY: Key = key(
    "retry",
    Shape::Grows(&Shape::Number(0, REPEATS_MAX as i64), &RETRY),
    "Attempts after the first, or how to try again",
)
.foreign(&["retries", "attempts", "retryStrategy"]);
const REQUIRES: Key =
    key("requires", Shape::Many(&Shape::Requirement), "What a worker must be or have")
        .most(CLAUSES_MAX)
        .foreign(&["runs-on", "labels", "capabilities", "require", "nodeSelector", "platforms"]);
const PREFERS: Key =
    key("prefers", Shape::Many(&Shape::Requirement), "What a worker had better be or have")
        .most(CLAUSES_MAX)
        .foreign(&["prefer", "preferred"]);
const PRIORITY: Key = key("priority", Shape::Number(-1_000_000, 1_000_000), "Greater goes first")
    .foreign(&["prio", "weight"]);
const LOCK_KEY: Key = key(
    "lock",
    Shape::Many(&Shape::Grows(&Shape::Text, &LOCK)),
    "What it holds while it runs, one at a time",
)
.most(LOCKS_MAX)
.foreign(&[
    "locks",
    "concurrency",
    "resource_group",
    "mutex",
    "semaphore",
    "serial",
    "serial_groups",
    "synchronization",
]);
const PIN: Key = key("pin", Shape::Word(&["leader"]), "Runs on the leading node").foreign(&["on"]);
const NODES_KEY: Key =
    key("nodes", Shape::Object(&NODES), "Workers that may or may not run it, by name")
        .foreign(&["node", "hosts"]);
const PER_WORKER: Key = key(
    "per_worker",
    Shape::Number(1, 1_000_000),
    "The most of this step, cells included, that one worker runs at a time, over all runs of the pipeline",
)
.foreign(&["max-parallel"]);
const IGNORE_FAILURE: Key =
    key("ignore_failure", Shape::Flag, "Whether its failure leaves the run as it is").foreign(&[
        "continue-on-error",
        "allow_failure",
        "ignore_errors",
    ]);
const IDEMPOTENT: Key = key(
    "idempotent",
    Shape::OnceKey,
    "The key under which it is done once: a success on record is taken over, in every run",
)
.foreign(&["idempotency_key", "once", "unique", "dedupe"]);
const ON_LOST_CONTACT: Key = key(
    "on_lost_contact",
    Shape::Word(&["continue", "stop"]),
    "What a worker that has lost contact does with it",
);
const WAIT_FOR_WORKER: Key =
    key("wait_for_worker", Shape::Duration, "How long it waits while no worker could run it");
const WAIT_FOR_LOCK: Key = key(
    "wait_for_lock",
    Shape::Duration,
    "How long it waits for its locks, or for the key that another step is at",
);
const KILL_GRACE: Key =
    key("kill_grace", Shape::Duration, "From the polite order to stop to the other one")
        .foreign(&["grace", "grace_period", "stop_timeout"]);

const STEP_KEYS: &[Key] = &[
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
    not_yet("image", "The container image that it runs in").foreign(&["container", "docker"]),
    not_yet("http", "A request to send instead of a command").foreign(&["request", "webhook"]),
    not_yet("inputs", "Files that it reads: unchanged, the recorded outcome is used again")
        .foreign(&["sources"]),
    not_yet("cache", "Folders that are kept from run to run").foreign(&["caches"]),
    not_yet("artifacts", "Files that the steps that need it get").foreign(&[
        "artefacts",
        "artifact",
        "uploads",
    ]),
    not_yet("fetch", "Which artifacts of its needs it gets"),
    not_yet("reports", "Test reports that it writes").foreign(&["report", "junit"]),
    not_yet("loop", "Repeats a group of steps until a condition holds")
        .foreign(&["repeat", "until"]),
];

const DEFAULT_KEYS: &[Key] = &[
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
    not_yet("image", "The container image that steps run in").foreign(&["container", "docker"]),
    not_yet("cache", "Folders that are kept from run to run").foreign(&["caches"]),
];
