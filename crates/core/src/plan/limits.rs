//! Bounds on plans.

/// Steps in a plan, joins not counted: far beyond any written by hand, small enough for 32-bit indices and a laptop's
/// memory.
pub const STEPS_MAX: usize = 1_000_000;

/// Cells of one matrix: a matrix beyond that is a mistake in its axes.
pub const CELLS_MAX: usize = 100_000;

/// Needs in a plan: four for each step of the largest plan. Each takes some 30 bytes while the plan is made.
pub const EDGES_MAX: usize = 4_000_000;

/// Needs of one step: a step that waits for a whole plan of the size that people write.
pub const NEEDS_MAX: usize = 10_000;

/// Locks of one step. Steps hold one or two; a step that needs more than this needs one lock for all of them. Whenever one
/// of them is taken or freed, every step that waits for it is looked at.
pub const LOCKS_MAX: usize = 32;

/// Locks of all steps of a plan together, steps with the same rules counted once: a matrix of 50,000 cells with a lock each.
/// It bounds what one change of a lock can cost.
pub const LOCK_USES_MAX: usize = 50_000;

/// Labels and workers' names that the steps of a plan demand or prefer, in `requires`, `prefers`, `route` and `nodes`; steps
/// with equal demands are counted once. Each of them is compared with each worker when a run is taken and when a worker joins.
pub const DEMANDS_MAX: usize = 10_000;

/// Demands and preferences of one step: a machine is described by a dozen labels.
pub const CLAUSES_MAX: usize = 64;

/// Alternatives of one demand (`gpu | tpu`).
pub const ALTERNATIVES_MAX: usize = 64;

/// Workers that one step allows, or denies, by name. Greater groups have a label.
pub const NODES_MAX: usize = 1_000;

/// Kinds of failures that one step is tried again for: exit codes are few.
pub const RETRY_ON_MAX: usize = 64;

/// Bytes of a plan in memory: names, works, rules and needs. The largest plan of steps that are alike fits; a controller
/// with 1 GiB of memory can hold several of this size.
pub const PLAN_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Attempts after the first, and hand-outs of one attempt after the first: more is a mistake for "for ever".
pub const REPEATS_MAX: u16 = 10_000;

/// Bytes of what one step executes: a grant must fit in a message of 1 MiB with room to spare.
pub const WORK_MAX: usize = 256 * 1024;

/// Bytes in a name: it must fit in file names, metric labels and on screen.
pub const NAME_MAX: usize = 128;
