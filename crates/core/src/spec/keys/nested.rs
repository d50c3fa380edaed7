//! The keys of the small maps inside a step: a need, a lock and nodes.

use super::key_spec::{KeyDefault, KeyReads, ObjectKeys, ValueShape, key};
use crate::plan::NODES_MAX;

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
