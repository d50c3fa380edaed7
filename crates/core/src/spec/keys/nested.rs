//! The keys of the maps inside a step: needs, matrix, retry, lock and nodes.

use super::key_spec::{KeyDefault, KeyReads, ObjectKeys, ValueShape, key};
use crate::plan::{NODES_MAX, REPEATS_MAX, RETRY_ON_MAX};
use crate::spec::limits::{AXES_MAX, CELL_PARTS_MAX};

const REPEATS: i64 = REPEATS_MAX as i64;

/// A step that another one needs.
pub(crate) const NEED: ObjectKeys = ObjectKeys {
    name: "need",
    path: "steps.NAME.needs",
    intro: "An entry of `needs` is the name of a step, or a map with these keys.",
    rest: None,
    keys: &[
        key("step", ValueShape::Name, "Name of the step that is needed")
            .default(KeyDefault::Required)
            .foreign_names(&["name", "id", "job", "task"])
            .example(
                "
steps:
  lint: { run: echo linting }
  report: { needs: [{ step: lint, optional: true }], run: echo done }
",
            ),
        key(
            "optional",
            ValueShape::Flag,
            "If true, the step does not need the other one to succeed",
        )
        .default(KeyDefault::Value("false"))
        .details(
            "The step still waits until the needed step has ended, and can read its outputs. \
                 Without it, a need that failed or could not run blocks the step. A failure still \
                 ends the run early, unless the failed step has `ignore_failure` or the run has \
                 `--keep-going`.",
        )
        .example(
            "
steps:
  lint: { run: 'false', ignore_failure: true }
  build: { run: echo building }
  package: { needs: [build, { step: lint, optional: true }], run: echo packing }
",
        ),
    ],
};

/// Axes, and the cells that are added to or removed from their product.
pub(crate) const MATRIX: ObjectKeys = ObjectKeys {
    name: "matrix",
    path: "steps.NAME.matrix",
    intro: "\
Every other key is an axis: a [name](#names) and the list of its values. The step runs once for each combination of the values;
each combination is a cell, shown as `test[linux,sqlite]`. There are at most 16 axes and 100,000 cells. Expressions read a
value as `matrix.AXIS`, and commands as the variable `WINDLASS_MATRIX_AXIS`.

A list instead of a map has one axis, `target`, and each value is a label that the worker must have.
The axes `os` and `arch` also select the worker: a cell with `os: linux` runs on workers with the label `os=linux`.
A step that needs a step with a matrix waits for all of its cells.",
    rest: Some(ValueShape::OneOrMany(&ValueShape::Text)),
    keys: &[
        key(
            "include",
            ValueShape::OneOrMany(&ValueShape::Map(&ValueShape::Text)),
            "Cells to add, or values to add to cells",
        )
        .entries_max(CELL_PARTS_MAX)
        .reads(KeyReads::Params)
        .details(
            "An entry whose axes match existing cells adds its other values to these cells. An \
             entry that sets every axis and matches no cell becomes a new cell.",
        )
        .example(
            r#"
steps:
  test:
    matrix:
      db: [sqlite, postgres]
      include:
        - { db: postgres, port: "5432" }
        - { db: mysql }
    run: echo "$WINDLASS_MATRIX_DB"
"#,
        ),
        key(
            "exclude",
            ValueShape::OneOrMany(&ValueShape::Map(&ValueShape::Text)),
            "Cells to remove",
        )
        .entries_max(CELL_PARTS_MAX)
        .reads(KeyReads::Params)
        .details("An entry removes all cells that have its values. It must match at least one.")
        .example(
            "
steps:
  test:
    matrix:
      db: [sqlite, postgres]
      mode: [fast, full]
      exclude: { db: sqlite, mode: full }
    run: echo testing
",
        ),
        key(
            "route",
            ValueShape::OneOrMany(&ValueShape::Name),
            "Axes whose value the worker must have as a label",
        )
        .entries_max(AXES_MAX)
        .default(KeyDefault::Phrase("`os` and `arch`, which always select the worker"))
        .details("The label is `AXIS=VALUE`. A cell that no worker can run is skipped.")
        .example(
            "
steps:
  test:
    matrix: { gpu: [a100, h100], route: gpu }
    run: echo testing
",
        ),
    ],
};

/// How often a step is attempted.
pub(crate) const RETRY: ObjectKeys = ObjectKeys {
    name: "retry",
    path: "steps.NAME.retry",
    intro: "`retry` is a number, which is `times`, or a map with these keys.",
    rest: None,
    keys: &[
        key("times", ValueShape::Number(0, REPEATS), "Attempts after the first")
            .default(KeyDefault::Value("0"))
            .reads(KeyReads::PlanTime)
            .foreign_names(&["max", "limit", "attempts", "count", "retries"])
            .example(
                "
steps:
  fetch: { run: echo fetching, retry: { times: 3 } }
",
            ),
        key("wait", ValueShape::DurationRange, "Wait before the second attempt, or a range")
            .default(KeyDefault::Value("1s..1m"))
            .reads(KeyReads::PlanTime)
            .foreign_names(&["backoff", "delay", "interval"])
            .details(
                "With a range, the wait doubles after each attempt, from the first duration up to \
                 the second, and is then reduced at random by up to a half, but not below the \
                 first. With a single duration it is always the same.",
            )
            .example(
                "
steps:
  fetch: { run: echo fetching, retry: { times: 3, wait: 5s..2m } }
",
            ),
        key("on", ValueShape::OneOrMany(&ValueShape::RetryOn), "Failures that are retried")
            .entries_max(RETRY_ON_MAX)
            .default(KeyDefault::Phrase("all failures"))
            .reads(KeyReads::PlanTime)
            .foreign_names(&["when", "if"])
            .details(
                "`failed` is any failure of the command, `timed_out` an expired `timeout`, and \
                 `exit-75` a failure with this exit code.",
            )
            .example(
                "
steps:
  fetch: { run: echo fetching, retry: { times: 3, on: [timed_out, exit-75] } }
",
            ),
        key("elsewhere", ValueShape::Flag, "If true, a retry prefers another worker")
            .default(KeyDefault::Value("false"))
            .details("After one minute without another worker, the same one may run it again.")
            .example(
                "
steps:
  test: { run: echo testing, retry: { times: 2, elsewhere: true } }
",
            ),
        key("lost", ValueShape::Number(0, REPEATS), "Deliveries after the first of one attempt")
            .default(KeyDefault::Value("3"))
            .reads(KeyReads::PlanTime)
            .details(
                "When a worker is lost, the attempt is delivered to another one. This does not \
                 use up `times`. With 0 an attempt that may have started is never delivered \
                 again: the step fails.",
            )
            .example(
                "
steps:
  charge: { run: echo charging the card, retry: { lost: 0 } }
",
            ),
    ],
};

/// A lock that a step holds.
pub(crate) const LOCK: ObjectKeys = ObjectKeys {
    name: "lock",
    path: "steps.NAME.lock",
    intro: "An entry of `lock` is the name of a lock, or a map with these keys.",
    rest: None,
    keys: &[
        key("name", ValueShape::Text, "Name of the lock")
            .default(KeyDefault::Required)
            .reads(KeyReads::PlanTime)
            .foreign_names(&["group", "key", "id"])
            .details(
                "A name that begins with `./` belongs to this pipeline; any other name is shared \
                 by all pipelines of the store or cluster. It has 1 to 255 bytes in one line.",
            )
            .example(
                "
steps:
  migrate: { lock: { name: ./schema }, run: echo migrating }
",
            ),
        key(
            "order",
            ValueShape::OneOfWords(&["fifo", "newest-first", "cancel-older"]),
            "Order in which waiting steps get the lock",
        )
        .default(KeyDefault::Value("fifo"))
        .foreign_names(&["cancel-in-progress", "strategy"])
        .details(
            "`fifo` serves the step that has waited longest, `newest-first` the step of the \
             newest run. `cancel-older` also stops the steps of older runs that wait for the lock \
             or hold it with this order.",
        )
        .example(
            "
steps:
  preview: { lock: { name: preview, order: cancel-older }, run: echo deploying }
",
        ),
    ],
};

/// Allowed and denied workers.
pub(crate) const NODES: ObjectKeys = ObjectKeys {
    name: "nodes",
    path: "steps.NAME.nodes",
    intro: "Names are compared exactly; there are no patterns. For groups of workers use labels and `requires`.",
    rest: None,
    keys: &[
        key("allow", ValueShape::OneOrMany(&ValueShape::Text), "The only workers that may run it")
            .entries_max(NODES_MAX)
            .default(KeyDefault::Phrase("all workers"))
            .reads(KeyReads::PlanTime)
            .foreign_names(&["only", "include"])
            .example(
                "
steps:
  flash: { nodes: { allow: [bench-1, bench-2] }, run: echo flashing }
",
            ),
        key("deny", ValueShape::OneOrMany(&ValueShape::Text), "Workers that may not run the step")
            .entries_max(NODES_MAX)
            .reads(KeyReads::PlanTime)
            .foreign_names(&["exclude", "not", "except"])
            .example(
                "
steps:
  build: { nodes: { deny: old-laptop }, run: echo building }
",
            ),
    ],
};
