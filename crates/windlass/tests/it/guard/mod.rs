//! The guard with real processes: each test ends what it started.

mod arrange;
mod basics;
mod deaths;
mod life;
mod rate;
