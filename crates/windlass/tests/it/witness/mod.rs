//! The witness suite: real processes under faults, and a proof from what steps wrote that no lock had too many holders.
//!
//! Each round starts a controller and two workers, submits steps that hold one lock, and injects the faults that its number
//! chooses (`Plan`). Steps go on until the faults are over, and everything that belongs to a step writes lines to a shared
//! file for as long as it lives; `StepRecords` reads them.
//!
//! - `WINDLASS_WITNESS=7` replays round 7; `WINDLASS_DEEP=1` runs 200 rounds instead of a few.
//! - A new fault is a variant of `Fault` with an arm in `inject` and `heal`. What it needs beside a store in a folder and
//!   workers that join by HTTP is a `Site`.

mod clocks;
mod databases;
mod faults;
mod plan;
mod round_store;
mod rounds;
mod scene;
mod script;
mod second_host;
mod step_records;
