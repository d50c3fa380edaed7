//! The keys of everything but a step.

use super::step::{DEFAULTS, STEP};
use super::table::{Object, Shape, key, not_yet};
use crate::plan::{NODES_MAX, REPEATS_MAX, RETRY_ON_MAX};
use crate::spec::limits::{AXES_MAX, DECLARED_MAX, ENV_MAX, PARAMS_MAX, PARTS_MAX};

const REPEATS: i64 = REPEATS_MAX as i64;

/// Slots of a lock: more than the workers of any fleet.
const SLOTS: i64 = 1_000_000;

/// The file itself.
pub(crate) const PIPELINE: Object = Object {
    name: "pipeline",
    rest: None,
    keys: &[
        key("name", Shape::Text, "What the pipeline is called; the name of its folder if left out"),
        key("about", Shape::Text, "One line on what it is for").foreign(&["description", "desc"]),
        key(
            "params",
            Shape::Map(&Shape::Grows(&Shape::Text, &PARAM)),
            "Values given when a run begins",
        )
        .most(PARAMS_MAX)
        .foreign(&["parameters", "inputs", "args"]),
        not_yet("workspace", "Where the files of a run come from").foreign(&["checkout", "clone"]),
        key("env", Shape::Map(&Shape::Text), "Environment variables of every step")
            .most(ENV_MAX)
            .foreign(&["environment", "variables", "vars"]),
        key(
            "locks",
            Shape::Map(&Shape::Number(1, SLOTS)),
            "Slots of locks; a lock not listed has one",
        )
        .most(DECLARED_MAX),
        key(
            "defaults",
            Shape::Object(&DEFAULTS),
            "Settings of every step that does not have its own",
        )
        .foreign(&["default"]),
        key("timeout", Shape::Limit, "The longest that a run may take").foreign(&[
            "timeout-minutes",
            "timeout_sec",
            "deadline",
        ]),
        key("steps", Shape::Map(&Shape::Object(&STEP)), "What is to be done, by name")
            .foreign(&["jobs", "tasks", "stages", "targets", "modules", "pipeline"]),
    ],
};

/// A value given when a run begins.
pub(crate) const PARAM: Object = Object {
    name: "param",
    rest: None,
    keys: &[
        key("default", Shape::Text, "What it is if not given").foreign(&["value"]),
        key("choose", Shape::List(&Shape::Text), "The only values that it may have")
            .most(PARAMS_MAX)
            .foreign(&["choices", "options", "enum", "values", "oneof"]),
        key(
            "type",
            Shape::Word(&["string", "number", "boolean"]),
            "What it is; told by its default if left out",
        ),
        key("required", Shape::Flag, "Whether it must be given"),
        key("about", Shape::Text, "One line on what it is for").foreign(&[
            "description",
            "desc",
            "help",
        ]),
    ],
};

/// How often a step is tried.
pub(crate) const RETRY: Object = Object {
    name: "retry",
    rest: None,
    keys: &[
        key("times", Shape::Number(0, REPEATS), "Attempts after the first")
            .foreign(&["max", "limit", "attempts", "count", "retries"]),
        key("wait", Shape::Wait, "The wait before the second attempt, or from..to: it doubles")
            .foreign(&["backoff", "delay", "interval"]),
        key("on", Shape::Many(&Shape::RetryOn), "Which failures are tried again; all if left out")
            .most(RETRY_ON_MAX)
            .foreign(&["when", "if"]),
        key("elsewhere", Shape::Flag, "Whether another worker should try, if there is one"),
        key(
            "lost",
            Shape::Number(0, REPEATS),
            "Hand-outs after the first when workers are lost; 0: never twice",
        ),
    ],
};

/// A lock that a step holds.
pub(crate) const LOCK: Object = Object {
    name: "lock",
    rest: None,
    keys: &[
        key("name", Shape::Text, "Its name; `./name` is this pipeline's own")
            .foreign(&["group", "key", "id"]),
        key("order", Shape::Word(&["fifo", "newest-first", "cancel-older"]), "Who goes first")
            .foreign(&["cancel-in-progress", "strategy"]),
    ],
};

/// A step that another one needs.
pub(crate) const NEED: Object = Object {
    name: "need",
    rest: None,
    keys: &[
        key("step", Shape::Name, "Which step").foreign(&["name", "id", "job", "task"]),
        key("optional", Shape::Flag, "Whether it is waited for without being blocked by it"),
    ],
};

/// Which workers may run a step, by name.
pub(crate) const NODES: Object = Object {
    name: "nodes",
    rest: None,
    keys: &[
        key("allow", Shape::Many(&Shape::Text), "The only workers that may run it")
            .most(NODES_MAX)
            .foreign(&["only", "include"]),
        key("deny", Shape::Many(&Shape::Text), "Workers that may not run it")
            .most(NODES_MAX)
            .foreign(&["exclude", "not", "except"]),
    ],
};

/// Axes and what is added to or taken from their product.
pub(crate) const MATRIX: Object = Object {
    name: "matrix",
    rest: Some(Shape::Many(&Shape::Text)),
    keys: &[
        key(
            "include",
            Shape::Many(&Shape::Map(&Shape::Text)),
            "Cells to add, or values to add to cells",
        )
        .most(PARTS_MAX),
        key("exclude", Shape::Many(&Shape::Map(&Shape::Text)), "Cells to leave out")
            .most(PARTS_MAX),
        key(
            "route",
            Shape::Many(&Shape::Name),
            "Axes whose value a worker must have as a label; `os` and `arch` always",
        )
        .most(AXES_MAX),
    ],
};
