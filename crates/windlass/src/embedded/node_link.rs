//! The link of a node's own worker to the current leader.
//!
//! If several controllers share a store, each has its own worker. It is a regular worker: its leases expire, and a guard
//! ends its steps with them. Only its link differs. While its node leads, the worker calls the node directly, without a
//! port, a token or a certificate. Otherwise it reaches the leader over HTTP, at the address in the store. If its node stops
//! leading, running steps continue, and the worker reports their outcomes to the next leader with the credential that it
//! got when it joined.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use windlass_controller::{LogIngest, LogIngestError, NodeHandle, ResultPartRequest};
use windlass_core::access::Principal;
use windlass_core::engine::EngineCall;
use windlass_core::id::Incarnation;
use windlass_core::session::{
    Exchange, ExchangeReply, LeaseRef, RegisterReply, RegisterRequest, WorkerRefusal,
};
use windlass_link::http::{HttpWorkerLink, report_own_end};
use windlass_link::output::{LogChunk, LogChunksReply, OutputLink};
use windlass_link::{LinkError, LinkFuture, WorkerLink};
use windlass_net::credentials::WorkerSecret;
use windlass_net::http::HttpClient;
use windlass_store::logs::{LogId, LogPart};

/// Bytes of output that are accepted at once: they are already in memory.
const CREDIT: usize = 512 << 10;

/// The pause between two tries to deregister.
const PAUSE: Duration = Duration::from_millis(100);

/// A link to this node while it leads, and to the current leader otherwise.
#[derive(Debug)]
pub struct NodeLink {
    handle: NodeHandle,
    intake: LogIngest,
    client: Arc<HttpClient>,
    secret: WorkerSecret,
}

/// The route to the current leader.
enum NodeLinkRoute {
    InProcess,
    Http(HttpWorkerLink),
}

impl NodeLink {
    /// The link of the worker with this secret; `client` sends its requests to other leaders. While the node leads, it
    /// receives the worker's output here.
    pub const fn new(
        handle: NodeHandle,
        intake: LogIngest,
        client: Arc<HttpClient>,
        secret: WorkerSecret,
    ) -> Self {
        Self { handle, intake, client, secret }
    }

    fn route(&self) -> Result<NodeLinkRoute, LinkError> {
        let (leads, leader) = self.handle.views().with(|view| (view.leads(), view.led_by.clone()));
        if leads {
            return Ok(NodeLinkRoute::InProcess);
        }
        let leader = leader.ok_or_else(|| LinkError::NotLeader("this node".to_owned()))?;
        let at = leader.address.and_then(|address| address.parse().ok());
        let at = at.ok_or_else(|| LinkError::Unreachable {
            place: leader.node,
            reason: "it leads and has no address".to_owned(),
        })?;
        Ok(NodeLinkRoute::Http(HttpWorkerLink::new(Arc::clone(&self.client), vec![at])))
    }

    /// Deregisters the worker: no process of this start is left, and every outcome has a verdict. Repeats the request while
    /// there is no leader; without the request, the worker is given up after a lease duration.
    pub async fn deregister(&self, incarnation: Incarnation) {
        let worker = self.secret.worker_id();
        loop {
            match self.route() {
                Ok(NodeLinkRoute::InProcess) => {
                    let ended = EngineCall::guard_ended(worker, incarnation, Vec::new());
                    if self.handle.call(ended).await.is_ok() {
                        return;
                    }
                }
                Ok(NodeLinkRoute::Http(link)) => {
                    return report_own_end(&link, worker, incarnation).await;
                }
                Err(_) => {}
            }
            sleep(PAUSE).await;
        }
    }

    async fn join_here(
        &self,
        register: RegisterRequest,
    ) -> Result<Result<RegisterReply, WorkerRefusal>, LinkError> {
        let join = EngineCall::join(register, self.secret.digest());
        Ok(self.handle.call(join.by(Principal::Local)).await?)
    }
}

impl WorkerLink for NodeLink {
    fn register(
        &self,
        register: RegisterRequest,
    ) -> LinkFuture<'_, Result<RegisterReply, WorkerRefusal>> {
        Box::pin(async move {
            match self.route()? {
                NodeLinkRoute::InProcess => self.join_here(register).await,
                NodeLinkRoute::Http(link) => match link.register(register).await {
                    // The leader requires a token, and this node has none: the worker joins when its node leads.
                    Err(LinkError::Denied { place, .. }) => Err(LinkError::NotLeader(place)),
                    joined => joined,
                },
            }
        })
    }

    fn exchange(&self, exchange: Exchange) -> LinkFuture<'_, ExchangeReply> {
        Box::pin(async move {
            match self.route()? {
                NodeLinkRoute::InProcess => Ok(self.handle.exchange(exchange).await?),
                NodeLinkRoute::Http(link) => link.exchange(exchange).await,
            }
        })
    }

    fn cancel_run(&self, lease: LeaseRef) -> LinkFuture<'_, ()> {
        Box::pin(async move {
            match self.route()? {
                NodeLinkRoute::InProcess => {
                    Ok(self.handle.cancel_by_step(Some(self.secret.worker_id()), lease).await?)
                }
                NodeLinkRoute::Http(link) => link.cancel_run(lease).await,
            }
        })
    }
}

/// A refusal is final; a store that failed is read again.
fn not_fetched(error: &LogIngestError) -> LinkError {
    let (place, reason) = ("this node".to_owned(), error.to_string());
    match error {
        LogIngestError::ResultNotRead(_) => LinkError::Denied { place, reason },
        _ => LinkError::Unreachable { place, reason },
    }
}

impl OutputLink for NodeLink {
    fn ship(&self, pieces: Vec<LogChunk>) -> LinkFuture<'_, LogChunksReply> {
        Box::pin(async move {
            match self.route()? {
                NodeLinkRoute::InProcess => {
                    match self.intake.take(self.secret.worker_id(), pieces).await {
                        Ok(sizes) => Ok(LogChunksReply { sizes, credit: CREDIT }),
                        Err(error) => Err(LinkError::Unreachable {
                            place: "this node".to_owned(),
                            reason: error.to_string(),
                        }),
                    }
                }
                NodeLinkRoute::Http(link) => link.ship(pieces).await,
            }
        })
    }

    fn fetch(&self, value: LogId, from: u64) -> LinkFuture<'_, LogPart> {
        Box::pin(async move {
            match self.route()? {
                NodeLinkRoute::InProcess => {
                    let request = ResultPartRequest { value, from, most: CREDIT as u64 };
                    let part = self.intake.value(self.secret.worker_id(), request).await;
                    part.map_err(|error| not_fetched(&error))
                }
                NodeLinkRoute::Http(link) => link.fetch(value, from).await,
            }
        })
    }
}
