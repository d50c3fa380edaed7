//! Limits of plans.

/// Steps in a plan without joins: small enough for 32-bit indices and the memory of a laptop.
pub const STEPS_MAX: usize = 1_000_000;

/// Cells of one matrix; a larger matrix is a mistake in its axes.
pub const CELLS_MAX: usize = 100_000;

/// Needs in a plan: four for each step of the largest plan. Each takes about 30 bytes while the plan is made.
pub const EDGES_MAX: usize = 4_000_000;

/// Needs of one step: enough to wait for every step of a plan written by hand.
pub const NEEDS_MAX: usize = 10_000;

/// Locks of one step. Steps usually hold one or two; more should be one common lock. Whenever a lock is taken or freed,
/// every step that waits for it is checked.
pub const LOCKS_MAX: usize = 32;

/// Lock uses of all steps of a plan, counting equal specs once: a matrix of 50,000 cells with a lock each. It bounds the
/// cost of one change of a lock.
pub const LOCK_USES_MAX: usize = 50_000;

/// Labels and worker names in `requires`, `prefers`, `route` and `nodes` of all steps of a plan, counting equal placements
/// once. Each is compared with each worker when a run is submitted and when a worker joins.
pub const DEMANDS_MAX: usize = 10_000;

/// Requirements and preferences of one step; a machine has about a dozen labels.
pub const CLAUSES_MAX: usize = 64;

/// Alternatives of one requirement (`gpu | tpu`).
pub const ALTERNATIVES_MAX: usize = 64;

/// Workers that one step allows or denies by name; larger groups should have a label.
pub const NODES_MAX: usize = 1_000;

/// Kinds of failures that one step retries.
pub const RETRY_ON_MAX: usize = 64;

/// Bytes of a plan in memory: names, works, specs and needs. The largest plan of similar steps fits. A controller with
/// 1 GiB of memory can hold several plans of this size.
pub const PLAN_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Retries after the first attempt, and redeliveries of one attempt; more would be meant as "no limit".
pub const REPEATS_MAX: u16 = 10_000;

/// Bytes of the work of one step: a grant must fit into a message of 1 MiB.
pub const WORK_MAX: usize = 256 * 1024;

/// Bytes of a name, which appears in file names, metric labels and terminals.
pub const NAME_MAX: usize = 128;
