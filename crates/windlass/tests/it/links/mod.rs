//! Links through mailboxes: what each promises, and pipelines over them between processes.

mod conformance;
#[expect(dead_code, reason = "it is a program, of which a part is used here")]
#[path = "../../../../../examples/dir-link.rs"]
mod dir_link;
mod flawed;
#[cfg(all(feature = "postgres", target_os = "linux"))]
mod postgres;
#[cfg(all(feature = "redis", target_os = "linux"))]
mod processes;
#[cfg(all(feature = "redis", target_os = "linux"))]
mod redis;
#[cfg(all(feature = "redis", target_os = "linux"))]
pub(crate) mod redis_cluster;
