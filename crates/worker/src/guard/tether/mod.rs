//! Tethers: where leases expire, each step runs under a small windlass process that ends it in time.
//!
//! ```text
//!   worker ── socket ── guard ─┬─ socket ── tether ── step and all of its descendants
//!                              └─ socket ── tether ── step …
//! ```
//!
//! A guard that starts steps itself is blocked by a start that does not return: an exec, a `stat` or a `chdir` on a file
//! system that does not answer. It could not kill that start either, because the process id is unknown until the exec
//! returns. A tether is our own program, so its start does not depend on the file systems of the user, and the guard
//! knows its process id at once. It is a guard of one step at a time: it speaks the same protocol, is a subreaper,
//! enters the folder and executes the command on a thread of its own, and keeps the deadline itself.
//!
//! - A step belongs to its tether by ancestry. Neither the guard nor a tether reads the environment of a process.
//! - When the socket to the guard closes, the tether kills everything below it and ends. So a step dies with its guard,
//!   also if the worker was killed with it.
//! - A start that has not returned when its step is to be killed is killed with the tether. A thread or child that
//!   waits in the kernel has a SIGKILL pending: it never executes the command.
//! - When a tether does not act in time, because it is stopped for instance, the guard kills it [`BACKUP`] later, or
//!   [`STOP_BACKUP`] after an order to stop a running step. What a killed tether leaves becomes a child of the guard, and
//!   is killed at once. A step that lost its tether is gone only when all of these are.
//! - A tether whose step is gone takes the next one. [`IDLE_MAX`] of them are kept.
//!
//! The remaining cases: a process that cannot be killed yet, because it waits in the kernel without reacting to
//! signals; a tether that is killed or stopped together with guard and worker; a machine that is frozen as a whole and
//! resumes later, until its timers are served. A program that is killed in the kernel executes no instruction of its
//! own after the SIGKILL, but a write that it had begun may still reach a file.

mod tether_handle;
mod tether_relay;
mod tether_starter;
mod tethered_step;

pub(super) use tether_relay::TetherRelay;
use windlass_core::time::Span;

/// How long after the deadline of a step the guard kills its tether. The lease ends half a second after the deadline at
/// the earliest.
const BACKUP: Span = Span::millis(100);

/// How long after an order to stop the guard kills the tether of a running step. No lease depends on it, and a tether
/// on an overloaded machine should get to act itself. If the guard kills it and is then stopped, nothing ends the step.
const STOP_BACKUP: Span = Span::secs(1);

/// The number of tethers that are kept without a step, so that a start need not wait for one. An idle tether uses no
/// processor time.
const IDLE_MAX: usize = 4;
