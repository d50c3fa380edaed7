//! Bounds on plans.

/// Steps in a plan, joins not counted: far beyond any written by hand, small enough for 32-bit indices and a laptop's
/// memory.
pub const STEPS_MAX: usize = 1_000_000;

/// Cells of one matrix: a matrix beyond that is a mistake in its axes.
pub const CELLS_MAX: usize = 100_000;

/// Needs in a plan: ten for each step of the largest plan.
pub const EDGES_MAX: usize = 10_000_000;

/// Attempts after the first, and hand-outs of one attempt after the first: more is a mistake for "for ever".
pub const REPEATS_MAX: u16 = 10_000;

/// Bytes of what one step executes: a grant must fit in a message of 1 MiB with room to spare.
pub const WORK_MAX: usize = 256 * 1024;

/// Bytes in a name: it must fit in file names, metric labels and on screen.
pub const NAME_MAX: usize = 128;
