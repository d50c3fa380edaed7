//! Workers of any make: requests in plain JSON, over the same sessions as our own.
//!
//! ```text
//!  register ─► WorkerSecret ─► Request::Register
//!  claim, heartbeat, complete, goodbye ──► Proxy (one for each worker, one request at a time) ──► Exchange ──► the leader's loop
//! ```
//!
//! A worker of ours holds its end of the session. A foreign one does not know that there is one: its [`PlainWorkerProxy`](proxy::Proxy)
//! holds that end for it, in the controller. A proxy that is gone with its process is made again from what is durable: the
//! leases that the worker holds, and how far its exchanges had come.
//!
//! | file | what it does |
//! |---|---|
//! | `register`, `steps` | the requests: joining, heartbeat, claim and goodbye; complete and events |
//! | `step_id` | the id of one hand-out of a step |
//! | `proxy`, `proxies` | a worker's end of the session; one for each worker |
//! | `offer` | what a worker is told to execute |

mod offer;
mod proxies;
mod proxy;
mod register;
mod step_id;
mod steps;

pub(super) use proxies::PlainWorkerProxies;
pub(super) use register::{claim, goodbye, heartbeat, register};
pub(super) use steps::{complete, events};
