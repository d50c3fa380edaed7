//! `windlass worker` as processes, and a leader that they reach over HTTP: each test ends what it started.
#![expect(clippy::unwrap_used, reason = "the vocabulary of tests fails as tests do")]

mod arrange;
mod deaths;
mod signals;
