//! Plain workers: programs of any make, which send JSON over HTTP.
//!
//! ```text
//!  register ─► WorkerSecret ─► EngineRequest::Join
//!  claim, heartbeat, complete, goodbye ──► PlainWorkerProxy (one per worker, one request at a time) ──► Exchange ──► leader
//! ```
//!
//! A plain worker does not know the session. Its [proxy](proxy::PlainWorkerProxy) holds the worker's end of the session in the
//! controller. After a restart of the controller the proxy is rebuilt from durable state: the leases that the worker
//! holds, and the number of its last exchange.
//!
//! | file | content |
//! |---|---|
//! | `register`, `steps` | the requests: register, heartbeat, claim and goodbye; complete and events |
//! | `bodies` | the bodies of requests and answers |
//! | `step_id` | the id of one delivery of a step |
//! | `proxy`, `proxies` | a worker's end of the session; the proxies of all workers |
//! | `offer` | the form of a lease for a plain worker |

mod bodies;
mod offer;
mod proxies;
mod proxy;
mod register;
mod step_id;
mod steps;

pub(super) use bodies::{
    PlainClaimBody, PlainCompleteBody, PlainCompleteReply, PlainEventBody, PlainEventReply,
    PlainGoodbyeBody, PlainGoodbyeReply, PlainHeartbeatBody, PlainHeartbeatReply, PlainOfferBody,
    PlainRegisterBody, PlainRegisteredBody,
};
pub(super) use proxies::PlainWorkerProxies;
pub(super) use register::{claim, goodbye, heartbeat, register};
pub(super) use steps::{complete, events};
