//! Workers that lost their leader: every kind of worker, every kind of loss, each with unsent output.
//!
//! A worker must end within its grace, must obey a second signal at once, and must say where the unsent output is.

mod grace;
mod leader_loss;
mod signals;
