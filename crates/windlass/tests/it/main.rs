//! The integration tests: `cli` and its neighbours run the program, `conformance` checks the journals.

#[cfg(all(feature = "http", feature = "sqlite"))]
mod api;
mod archives;
#[cfg(all(feature = "postgres", feature = "sqlite", target_os = "linux"))]
mod backup;
mod cli;
#[cfg(target_os = "linux")]
mod client;
#[cfg(target_os = "linux")]
mod cluster;
#[cfg(target_os = "linux")]
mod collector;
mod conformance;
mod controller;
#[cfg(target_os = "linux")]
mod cost;
#[cfg(all(feature = "http", target_os = "linux"))]
mod deploy;
#[cfg(feature = "sqlite")]
mod disks;
mod embedded_node;
mod exposition;
mod flawed_journal;
#[cfg(target_os = "linux")]
mod guard;
#[cfg(all(feature = "postgres", target_os = "linux"))]
mod ha;
#[cfg(all(feature = "postgres", feature = "redis", target_os = "linux"))]
mod instances;
#[cfg(all(feature = "postgres", feature = "redis", target_os = "linux"))]
mod leaderless;
mod links;
mod logs;
#[cfg(all(feature = "postgres", target_os = "linux"))]
mod postgres;
mod python;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod sdk;
#[cfg(target_os = "linux")]
mod serve;
mod support;
#[cfg(all(feature = "http", feature = "sqlite"))]
mod surface;
#[cfg(feature = "sqlite")]
mod tables;
#[cfg(all(feature = "postgres", feature = "redis", target_os = "linux"))]
mod witness;
#[cfg(target_os = "linux")]
mod worker;
