//! Workers whose leader is gone: every kind of worker, every way to lose the leader, each with output that was not sent.
//!
//! A worker must end within its grace, must obey a second signal at once, and must say where the unsent output is.

mod grace;
mod leader_loss;
mod signals;
