//! The vocabulary of the integration tests: one way to start each kind of process, and one way to wait.
//!
//! | module | purpose |
//! |---|---|
//! | `waiting` | wait for a condition with a deadline |
//! | `project_folder` | a folder with a pipeline file; runs the program in it, to its end or in the background |
//! | `program` | a program that runs, and a program that has ended |
//! | `processes` | processes by their id: children, guards, tethers |
//! | `http_client` | HTTP requests and their answers |
//! | `cluster` | what every cluster of a test can do: submit, wait for the end of a run, start workers |
//! | `local_cluster` | one controller process, and the workers that join it over HTTP or by mailbox |
//! | `controller_fleet` | several controllers on one PostgreSQL |
//! | `instance_processes` | several processes that share one run |
//! | `faulty_proxy` | a proxy that cuts connections, changes bytes and answers for its server |
//! | `in_process_controller` | a controller with its API in the process of the test |
//! | `postgres_server`, `redis_server` | servers of the test's own, which end with it |
//! | `certificate_authority`, `cuttable_connection` | certificates; a connection that a test can cut |

#[cfg(target_os = "linux")]
pub(crate) mod certificate_authority;
#[cfg(target_os = "linux")]
pub(crate) mod cluster;
#[cfg(all(feature = "postgres", target_os = "linux"))]
pub(crate) mod controller_fleet;
#[cfg(all(feature = "postgres", target_os = "linux"))]
pub(crate) mod cuttable_connection;
#[cfg(all(feature = "http", feature = "sqlite"))]
pub(crate) mod faulty_proxy;
pub(crate) mod http_client;
#[cfg(all(feature = "http", feature = "sqlite"))]
pub(crate) mod in_process_controller;
#[cfg(all(feature = "postgres", feature = "redis", target_os = "linux"))]
pub(crate) mod instance_processes;
#[cfg(target_os = "linux")]
pub(crate) mod local_cluster;
#[cfg(all(feature = "postgres", target_os = "linux"))]
pub(crate) mod postgres_server;
#[cfg(target_os = "linux")]
pub(crate) mod processes;
pub(crate) mod program;
pub(crate) mod project_folder;
#[cfg(all(feature = "redis", target_os = "linux"))]
pub(crate) mod redis_server;
pub(crate) mod waiting;
