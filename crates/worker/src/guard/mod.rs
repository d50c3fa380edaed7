//! The guard: one small process per worker. It starts every step, and outlives the worker to end them.
//!
//! ```text
//!   worker ── spawn, stop, deadline, notice, bye ▶ guard ──┬─ step, in a process group of its own
//!          ◀─── spawned, exited, gone ─────────         └─ orphans of steps, adopted
//! ```
//!
//! The worker starts the guard by executing its own program anew, see [`main_if_asked`]. They are connected by a pair
//! of sockets. The output pipe of a step is sent with the order to spawn it. The guard promises:
//!
//! - A step is *gone* only when no process of it is left, neither in its process group nor as a daemon that left the
//!   group. A background process that holds the output pipe does not keep the step: it is ordered to end when the main
//!   process has ended.
//! - When the worker dies in whatever way, its end of the socket closes. The guard kills everything by force and at
//!   once, and ends when nothing is left.
//! - If the worker configured a death notice and did not say goodbye, the guard then sends it to the leader: nothing of
//!   the worker is left, so its leases can pass on at once. The notice lists the steps that were started and not judged.
//! - A step that runs inside the worker, as a function of its program, cannot be ended without the worker. The guard is
//!   informed before it begins, lists it if the worker dies, and kills the worker if the step is not over by its
//!   deadline.
//! - A queued step starts when another one has ended, without an order from the worker. A step that is withdrawn before
//!   its turn never starts. No step starts once the worker has died: the guard looks at the socket before each start. It
//!   may have been stopped while the worker died, and would read older orders first.
//! - A deadline holds while the worker is dead, stopped or overloaded, and counts suspension.
//! - The guard leads a session of its own: Ctrl-C and a closed terminal reach neither it nor the steps. The worker
//!   decides what they mean, and also what a signal to the guard itself means. Steps have no controlling terminal.
//!
//! Where leases expire, a *tether* (`tether/mod.rs`) runs between the guard and each step. It ends the step in time
//! even if the start of the step does not return, and if worker and guard are killed.
//!
//! When the guard dies, the worker kills what the guard had started; those attempts are lost. When both die, tethers
//! end their steps. Processes without a tether, or whose tether was killed too, are found by a marker in their
//! environment: [`kill_strays`], [`kill_marked`].
//!
//! The socket carries a stream of frames and not packets: a step's arguments may exceed the largest packet, and packets
//! on macOS do not signal that the other end is closed.

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
mod guarded_step;
#[cfg(unix)]
mod handle;
#[cfg(unix)]
mod in_process_steps;
#[cfg(unix)]
mod internal_fence;
#[cfg(unix)]
mod lifeline;
mod orphan_process;
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
pub use guarded_step::{GuardedStep, InProcessStep};
#[cfg(unix)]
pub use handle::{GuardHandle, GuardLost, SpawnRequest};
#[cfg(unix)]
pub(crate) use internal_fence::internal_fence;
#[cfg(unix)]
pub use strays::{kill_marked, kill_strays};
#[cfg(not(unix))]
pub use unsupported::begin_pipeline;
#[cfg(not(unix))]
pub use unsupported::{GuardHandle, main_if_asked, main_if_asked_with};
