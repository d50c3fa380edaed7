//! `windlass worker` as processes, and a leader that they reach over HTTP: each test ends what it started.

mod deaths;
mod deploy_step;
mod signals;
