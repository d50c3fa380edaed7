//! The keys of everything but a step.

use super::key_spec::{ObjectKeys, ValueShape, key, unavailable_key};
use super::step::{DEFAULTS, STEP};
use crate::plan::{NODES_MAX, REPEATS_MAX, RETRY_ON_MAX};
use crate::spec::limits::{AXES_MAX, CELL_PARTS_MAX, DECLARED_LOCKS_MAX, ENV_MAX, PARAMS_MAX};

const REPEATS: i64 = REPEATS_MAX as i64;

/// Slots of a lock: more than the workers of any fleet.
const SLOTS: i64 = 1_000_000;

/// The file itself.
pub(crate) const PIPELINE: ObjectKeys = ObjectKeys {
    name: "pipeline",
    rest: None,
    keys: &[
        key(
            "name",
            ValueShape::Text,
            "What the pipeline is called; the name of its folder if left out",
        ),
        key("about", ValueShape::Text, "One line on what it is for")
            .foreign_names(&["description", "desc"]),
        key(
            "params",
            ValueShape::Map(&ValueShape::ShortOrObject(&ValueShape::Text, &PARAM)),
            "Values given when a run begins",
        )
        .entries_max(PARAMS_MAX)
        .foreign_names(&["parameters", "inputs", "args"]),
        unavailable_key("workspace", "Where the files of a run come from")
            .foreign_names(&["checkout", "clone"]),
        key("env", ValueShape::Map(&ValueShape::Text), "Environment variables of every step")
            .entries_max(ENV_MAX)
            .foreign_names(&["environment", "variables", "vars"]),
        key(
            "locks",
            ValueShape::Map(&ValueShape::Number(1, SLOTS)),
            "Slots of locks; a lock not listed has one",
        )
        .entries_max(DECLARED_LOCKS_MAX),
        key(
            "defaults",
            ValueShape::Object(&DEFAULTS),
            "Settings of every step that does not have its own",
        )
        .foreign_names(&["default"]),
        key("timeout", ValueShape::PositiveDuration, "The longest that a run may take")
            .foreign_names(&["timeout-minutes", "timeout_sec", "deadline"]),
        key("steps", ValueShape::Map(&ValueShape::Object(&STEP)), "What is to be done, by name")
            .foreign_names(&["jobs", "tasks", "stages", "targets", "modules", "pipeline"]),
    ],
};

/// A value given when a run begins.
pub(crate) const PARAM: ObjectKeys = ObjectKeys {
    name: "param",
    rest: None,
    keys: &[
        key("default", ValueShape::Text, "What it is if not given").foreign_names(&["value"]),
        key("choose", ValueShape::List(&ValueShape::Text), "The only values that it may have")
            .entries_max(PARAMS_MAX)
            .foreign_names(&["choices", "options", "enum", "values", "oneof"]),
        key(
            "type",
            ValueShape::OneOfWords(&["string", "number", "boolean"]),
            "What it is; told by its default if left out",
        ),
        key("required", ValueShape::Flag, "Whether it must be given"),
        key("about", ValueShape::Text, "One line on what it is for").foreign_names(&[
            "description",
            "desc",
            "help",
        ]),
    ],
};

/// How often a step is tried.
pub(crate) const RETRY: ObjectKeys = ObjectKeys {
    name: "retry",
    rest: None,
    keys: &[
        key("times", ValueShape::Number(0, REPEATS), "Attempts after the first")
            .foreign_names(&["max", "limit", "attempts", "count", "retries"]),
        key(
            "wait",
            ValueShape::DurationRange,
            "The wait before the second attempt, or from..to: it doubles",
        )
        .foreign_names(&["backoff", "delay", "interval"]),
        key(
            "on",
            ValueShape::OneOrMany(&ValueShape::RetryOn),
            "Which failures are tried again; all if left out",
        )
        .entries_max(RETRY_ON_MAX)
        .foreign_names(&["when", "if"]),
        key("elsewhere", ValueShape::Flag, "Whether another worker should try, if there is one"),
        key(
            "lost",
            ValueShape::Number(0, REPEATS),
            "Hand-outs after the first when workers are lost; 0: never twice",
        ),
    ],
};

/// A lock that a step holds.
pub(crate) const LOCK: ObjectKeys = ObjectKeys {
    name: "lock",
    rest: None,
    keys: &[
        key("name", ValueShape::Text, "Its name; `./name` is this pipeline's own")
            .foreign_names(&["group", "key", "id"]),
        key(
            "order",
            ValueShape::OneOfWords(&["fifo", "newest-first", "cancel-older"]),
            "Who goes first",
        )
        .foreign_names(&["cancel-in-progress", "strategy"]),
    ],
};

/// A step that another one needs.
pub(crate) const NEED: ObjectKeys = ObjectKeys {
    name: "need",
    rest: None,
    keys: &[
        key("step", ValueShape::Name, "Which step").foreign_names(&["name", "id", "job", "task"]),
        key("optional", ValueShape::Flag, "Whether it is waited for without being blocked by it"),
    ],
};

/// Which workers may run a step, by name.
pub(crate) const NODES: ObjectKeys = ObjectKeys {
    name: "nodes",
    rest: None,
    keys: &[
        key("allow", ValueShape::OneOrMany(&ValueShape::Text), "The only workers that may run it")
            .entries_max(NODES_MAX)
            .foreign_names(&["only", "include"]),
        key("deny", ValueShape::OneOrMany(&ValueShape::Text), "Workers that may not run it")
            .entries_max(NODES_MAX)
            .foreign_names(&["exclude", "not", "except"]),
    ],
};

/// Axes and what is added to or taken from their product.
pub(crate) const MATRIX: ObjectKeys = ObjectKeys {
    name: "matrix",
    rest: Some(ValueShape::OneOrMany(&ValueShape::Text)),
    keys: &[
        key(
            "include",
            ValueShape::OneOrMany(&ValueShape::Map(&ValueShape::Text)),
            "Cells to add, or values to add to cells",
        )
        .entries_max(CELL_PARTS_MAX),
        key(
            "exclude",
            ValueShape::OneOrMany(&ValueShape::Map(&ValueShape::Text)),
            "Cells to leave out",
        )
        .entries_max(CELL_PARTS_MAX),
        key(
            "route",
            ValueShape::OneOrMany(&ValueShape::Name),
            "Axes whose value a worker must have as a label; `os` and `arch` always",
        )
        .entries_max(AXES_MAX),
    ],
};
