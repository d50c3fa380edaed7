//! The keys of a step that decide on which worker it runs, and before which others.

use super::key_spec::{KeyDefault, KeyReads, KeySpec, ValueShape, key};
use super::nested::NODES;
use crate::plan::CLAUSES_MAX;

pub(super) const REQUIRES: KeySpec = key(
    "requires",
    ValueShape::OneOrMany(&ValueShape::Requirement),
    "Labels that a worker must have to run the step",
)
.entries_max(CLAUSES_MAX)
.foreign_names(&["runs-on", "labels", "capabilities", "require", "nodeSelector", "platforms"])
.reads(KeyReads::PlanTime)
.details(
    "All [requirements](#requirements) of the list must match. `windlass run` skips a step that no \
     worker can run; on a cluster the step waits for `wait_for_worker` and then fails.",
)
.example(
    r#"
steps:
  build: { requires: [linux, cpu>=1, not spot], run: echo building }
  train: { requires: "gpu | tpu", run: echo training }
"#,
);

pub(super) const PREFERS: KeySpec = key(
    "prefers",
    ValueShape::OneOrMany(&ValueShape::Requirement),
    "Labels that a worker should have to run the step",
)
.entries_max(CLAUSES_MAX)
.foreign_names(&["prefer", "preferred"])
.reads(KeyReads::PlanTime)
.details("After two seconds without such a worker, any worker that meets `requires` may run it.")
.example(
    "
steps:
  build: { prefers: ssd, run: echo building }
",
);

/// Key `priority` of the table; the planner takes its bounds from here.
pub(crate) const PRIORITY: KeySpec =
    key("priority", ValueShape::Number(-1_000_000, 1_000_000), "Order among steps that can start")
        .foreign_names(&["prio", "weight"])
        .default(KeyDefault::Value("0"))
        .reads(KeyReads::PlanTime)
        .details("A step with a higher value starts first. Each minute of waiting adds 1.")
        .example(
            "
steps:
  hotfix: { priority: 100, run: echo fixing }
  nightly: { priority: -10, run: echo testing }
",
        );

pub(super) const PIN: KeySpec = key(
    "pin",
    ValueShape::OneOfWords(&["leader"]),
    "`leader`: the step runs only on the worker of the leading controller",
)
.foreign_names(&["on"])
.default(KeyDefault::Phrase("any worker"))
.details("`windlass run` on one machine leads itself, so the step runs there.")
.example(
    "
steps:
  notify: { pin: leader, run: echo done }
",
);

pub(super) const NODES_KEY: KeySpec =
    key("nodes", ValueShape::Object(&NODES), "Workers that may or may not run the step, by name")
        .foreign_names(&["node", "hosts"])
        .default(KeyDefault::Phrase("all workers"))
        .reads(KeyReads::PlanTime)
        .example(
            "
steps:
  build: { nodes: { deny: [old-laptop] }, run: echo building }
",
        );

/// Key `per_worker` of the table; the planner takes its bounds from here.
pub(crate) const PER_WORKER: KeySpec = key(
    "per_worker",
    ValueShape::Number(1, 1_000_000),
    "Maximum number of cells of the step that one worker runs at a time",
)
.foreign_names(&["max-parallel"])
.default(KeyDefault::Phrase("no limit"))
.reads(KeyReads::PlanTime)
.details("All runs of the pipeline count together.")
.example(
    "
steps:
  test:
    matrix: { shard: [1, 2, 3, 4] }
    per_worker: 1
    run: echo testing
",
);

pub(super) const WAIT_FOR_WORKER: KeySpec =
    key("wait_for_worker", ValueShape::Duration, "Maximum wait while no worker can run the step")
        .default(KeyDefault::Value("5m"))
        .reads(KeyReads::PlanTime)
        .details("After it the step fails. Time without a leader does not count.")
        .example(
            "
steps:
  build: { wait_for_worker: 1h, run: echo building }
",
        );
