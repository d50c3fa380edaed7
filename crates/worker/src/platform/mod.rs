//! The calls to the operating system, and what differs between systems.
//!
//! On Linux the guard adopts orphans (subreaper), is woken by the end of a process (pidfd), lists its children and
//! reads their environment (`/proc`). On other Unix systems it only knows process groups, and polls them. On other
//! systems there is no guard yet.

mod limits;
pub(crate) use limits::descriptors_max;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub use linux::hide_memory;
#[cfg(target_os = "linux")]
pub(crate) use linux::{
    DeadlineTimer, POLL_INTERVAL, RECEIVE, SEND, StrayProcess, ThreadChildren, all_children,
    become_guard, environment_has, exit_descriptor, group_left, in_transition, kill_own_children,
    own_program, set_close_on_exec, strays,
};

#[cfg(all(unix, not(target_os = "linux")))]
mod posix;
#[cfg(all(unix, not(target_os = "linux")))]
pub use posix::hide_memory;
#[cfg(all(unix, not(target_os = "linux")))]
pub(crate) use posix::{
    DeadlineTimer, POLL_INTERVAL, RECEIVE, SEND, StrayProcess, ThreadChildren, all_children,
    become_guard, environment_has, exit_descriptor, group_left, in_transition, kill_own_children,
    own_program, set_close_on_exec, strays,
};

#[cfg(unix)]
mod poll_pause;
#[cfg(unix)]
pub(crate) use poll_pause::poll_pause;

#[cfg(not(unix))]
mod unsupported;
#[cfg(not(unix))]
pub use unsupported::hide_memory;
