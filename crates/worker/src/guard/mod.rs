//! The guard: one small process per worker that starts every step, and outlives the worker to end them.
//!
//! ```text
//!   worker ── spawn, stop, deadline, will, bye ▶ guard ──┬─ step, in a process group of its own
//!          ◀─── spawned, exited, gone ─────────         └─ orphans of steps, adopted
//! ```
//!
//! The worker starts it by executing its own program anew, see [`main_if_asked`]. Between them is a pair of sockets; a
//! step's output pipe travels with the order to spawn it. What the guard promises:
//!
//! - A step is *gone* only when nothing of it is left: neither its process group nor a daemon that left the group. A
//!   background process that holds the output pipe does not hold the step: it is told to end when the step's main
//!   process has ended.
//! - When the worker dies in whatever way, its end of the socket closes: everything is killed, by force and at once, and
//!   the guard ends when nothing is left.
//! - If the worker left a will and did not say goodbye, the guard then tells the leader, so that what the worker held can
//!   pass on at once: nothing of it is left. It names what was started and not judged.
//! - A step that runs inside the worker, as a function of its program, cannot be ended without the worker. The guard is told of
//!   it before it begins, names it if the worker dies, and kills the worker if it is not over by its deadline.
//! - A step that stands in line starts when another has ended, without a word from the worker; who is withdrawn before
//!   its turn never starts, and no other's turn comes once the worker's death is seen.
//! - A deadline holds while the worker is dead, stopped or too busy to act, and counts suspension.
//! - The guard leads a session of its own: Ctrl-C and a closed terminal reach neither it nor the steps. What they mean is
//!   for the worker to decide, and so is a signal that was sent to the guard itself. Steps have no controlling terminal.
//!
//! Where leases expire, a *tether* (`tether/mod.rs`) stands between the guard and each step: it ends the step in time even if the
//! start of the step does not return, and if worker and guard are killed.
//!
//! When the guard dies, the worker kills what the guard had started; those attempts are lost. When both die, tethers end
//! their steps. What is left without tethers, or if a tether was killed too, is found by a marker in its environment:
//! [`kill_strays`], [`kill_marked`].
//!
//! The socket carries a stream of frames, not packets: a step's arguments may be larger than the largest packet, and
//! macOS has no packets that tell of the other end's closing.

#[cfg(unix)]
mod death_notice;
#[cfg(unix)]
mod entry;
#[cfg(unix)]
mod frame;
#[cfg(unix)]
mod guard_link;
#[cfg(unix)]
mod guard_process;
#[cfg(unix)]
mod guard_protocol;
#[cfg(unix)]
mod guard_state;
#[cfg(unix)]
mod handle;
#[cfg(unix)]
mod in_process_steps;
#[cfg(unix)]
mod internal_fence;
#[cfg(unix)]
mod lifeline;
#[cfg(unix)]
mod orphans;
#[cfg(unix)]
mod outbox;
#[cfg(unix)]
mod spawn;
#[cfg(unix)]
mod spawn_threads;
#[cfg(unix)]
mod strays;
#[cfg(unix)]
mod supervised_step;
#[cfg(unix)]
mod tether;
#[cfg(not(unix))]
mod unsupported;
#[cfg(unix)]
mod wait;

#[cfg(unix)]
pub use entry::begin_pipeline;
#[cfg(unix)]
pub use entry::{main_if_asked, main_if_asked_with};
#[cfg(unix)]
pub use guard_protocol::{SpawnFailure, SpawnFailureCause, StepExit};
#[cfg(unix)]
pub use handle::{GuardHandle, GuardLost, GuardedStep, InProcessStep, SpawnRequest};
#[cfg(unix)]
pub(crate) use internal_fence::internal_fence;
#[cfg(unix)]
pub use strays::{kill_marked, kill_strays};
#[cfg(not(unix))]
pub use unsupported::begin_pipeline;
#[cfg(not(unix))]
pub use unsupported::{GuardHandle, main_if_asked, main_if_asked_with};
