//! The keys of a step that decide whether and when it runs: its needs, its cells, its condition, its locks.

use super::key_spec::{KeyDefault, KeyReads, KeySpec, ValueShape, key};
use super::matrix::MATRIX;
use super::nested::{LOCK, NEED};
use crate::plan::{LOCKS_MAX, NEEDS_MAX};
use crate::spec::limits::TAGS_MAX;

pub(super) const NEEDS: KeySpec = key(
    "needs",
    ValueShape::OneOrMany(&ValueShape::ShortOrObject(&ValueShape::Name, &NEED)),
    "Steps that must have ended before this one starts",
)
.entries_max(NEEDS_MAX)
.foreign_names(&["depends_on", "depends", "deps", "dependencies", "after", "need"])
.default(KeyDefault::Phrase("none: the step starts at once"))
.details(
    "A need that failed, or that no worker could run, blocks the step. A need that was skipped by \
     its `if` does not. Needs must not form a cycle. Independent steps do not continue either: after the first \
     failure no further step starts, and running steps are cancelled, unless the run has `--keep-going`. Steps with \
     `always()` or `failure()` still run.",
)
.example(
    "
steps:
  lint: { run: echo linting }
  test: { run: echo testing }
  deploy: { needs: [lint, test], run: echo deploying }
",
);

pub(super) const MATRIX_KEY: KeySpec = key(
    "matrix",
    ValueShape::ShortOrObject(&ValueShape::List(&ValueShape::Text), &MATRIX),
    "Axes: the step runs once for each combination of their values",
)
.foreign_names(&["strategy", "parallel", "foreach", "for", "across", "withItems"])
.reads(KeyReads::Params)
.details(
    "A list is one axis, whose values are labels of workers. The keys of the map are described \
     [below](#keys-of-stepsnamematrix).",
)
.example(
    r#"
steps:
  test:
    matrix: { db: [sqlite, postgres], mode: [fast, full] }
    run: echo "${{ matrix.db }}, ${{ matrix.mode }}"
"#,
);

pub(super) const IF: KeySpec =
    key("if", ValueShape::Condition, "Condition under which the step runs; otherwise it is skipped")
        .foreign_names(&["when", "only", "condition", "rules", "unless"])
        .default(KeyDefault::Value("success()"))
        .reads(KeyReads::Outcomes)
        .details(
            "An [expression](expressions.md) without `${{ }}`. `success()` holds if no need failed, \
             `failure()` if one did, `always()` in any case, even while the run is being cancelled. \
             One of them can be joined with a condition on values by `and`.",
        )
        .example(
            "
params: { channel: beta }
steps:
  test: { run: echo testing }
  publish:
    needs: test
    if: params.channel == \"stable\"
    run: echo publishing
  report:
    needs: test
    if: failure() and params.channel == \"stable\"
    run: echo the tests failed
",
        );

pub(super) const TAGS: KeySpec = key(
    "tags",
    ValueShape::OneOrMany(&ValueShape::Name),
    "Words that select the step with `--tag`",
)
.entries_max(TAGS_MAX)
.foreign_names(&["tag", "groups"])
.example(
    "
steps:
  lint: { tags: [quick], run: echo linting }
  test: { tags: [slow], run: echo testing }
",
);

pub(super) const LOCK_KEY: KeySpec = key(
    "lock",
    ValueShape::OneOrMany(&ValueShape::ShortOrObject(&ValueShape::Text, &LOCK)),
    "Locks that the step holds while it runs",
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
])
.reads(KeyReads::PlanTime)
.details(
    "A lock has one slot unless [`locks`](#locks) says otherwise. All locks of a step are taken \
     together. `./name` belongs to this pipeline; any other name is shared by all pipelines. A \
     worker that has lost contact stops the step before another one can get the lock.",
)
.example(
    "
steps:
  migrate: { lock: ./schema, run: echo migrating }
  deploy: { lock: [production, ./schema], run: echo deploying }
",
);

pub(super) const WAIT_FOR_LOCK: KeySpec = key(
    "wait_for_lock",
    ValueShape::Duration,
    "Maximum wait for the locks of the step, or for its idempotency key",
)
.default(KeyDefault::Value("24h"))
.reads(KeyReads::PlanTime)
.details("After it the step fails. Time without a leader does not count.")
.example(
    "
steps:
  deploy: { lock: production, wait_for_lock: 30m, run: echo deploying }
",
);

pub(super) const IDEMPOTENT: KeySpec = key(
    "idempotent",
    ValueShape::IdempotencyKey,
    "Key under which the step succeeds only once: later runs reuse the recorded success",
)
.foreign_names(&["idempotency_key", "once", "unique", "dedupe"])
.reads(KeyReads::Outcomes)
.details(
    "It is shared by all pipelines unless it begins with `./`. The step is then `cached`, with the \
     recorded outputs. A failure is not reused. While one step works under the key, others wait for \
     at most `wait_for_lock`. `--again` runs it all the same. See \
     [Idempotency](../explanation/idempotency.md).",
)
.example(
    r#"
params: { version: "1.2" }
steps:
  publish:
    idempotent: "./publish-${{ params.version }}"
    run: echo publishing
"#,
);
