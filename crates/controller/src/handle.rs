//! Requests to a node, from its own process.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use windlass_core::engine::{EngineAnswer, EngineCall, EngineRequest};
use windlass_core::session::{Exchange, ExchangeReply};

use super::engine_view::SharedView;
use super::metrics::MetricsRegistry;
use super::self_reports::SelfReports;

/// This node does not lead, or stopped leading before it could answer. Whether the request took effect is unknown;
/// repeating it is safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this node does not lead")]
pub struct NotLeader;

/// Sends requests to a node and gives access to its view. Clones share the node.
#[derive(Clone, Debug)]
pub struct NodeHandle {
    pub(super) inbox: mpsc::Sender<NodeRequest>,
    pub(super) views: Arc<SharedView>,
    pub(super) meters: Arc<MetricsRegistry>,
    pub(super) self_reports: Arc<SelfReports>,
}

/// A request on its way to the leader.
#[derive(Debug)]
pub(super) enum NodeRequest {
    Request(Box<EngineRequest>, oneshot::Sender<EngineAnswer>),
    Exchange(Exchange, oneshot::Sender<ExchangeReply>),
}

impl NodeHandle {
    /// Has the leader decide a call, and returns its answer once it is durable. Waits while the leader's inbox is full.
    ///
    /// A leader that fails may answer with a denial that this request cannot get. As with [`NotLeader`], it is not known
    /// whether the request took effect, and the client may repeat it.
    pub async fn call<A>(&self, call: EngineCall<A>) -> Result<A, NotLeader> {
        let (request, read) = call.into_parts();
        read(self.ask(request).await?).ok_or(NotLeader)
    }

    /// Sends a request and returns the answer once it is durable. Waits while the leader's inbox is full.
    pub async fn ask(&self, request: EngineRequest) -> Result<EngineAnswer, NotLeader> {
        let (answer, answered) = oneshot::channel();
        self.send(NodeRequest::Request(Box::new(request), answer)).await?;
        answered.await.map_err(|_| NotLeader)
    }

    /// Sends an exchange of a worker. The reply can take as long as the leader has no news for the worker; a newer
    /// exchange of the same worker ends the wait.
    pub async fn exchange(&self, exchange: Exchange) -> Result<ExchangeReply, NotLeader> {
        let (reply, replied) = oneshot::channel();
        self.send(NodeRequest::Exchange(exchange, reply)).await?;
        replied.await.map_err(|_| NotLeader)
    }

    /// Returns the view of the durable state.
    pub fn views(&self) -> &Arc<SharedView> {
        &self.views
    }

    /// Returns the metrics of this node.
    pub fn meters(&self) -> &Arc<MetricsRegistry> {
        &self.meters
    }

    /// Returns the reports that plain workers send about themselves.
    pub fn self_reports(&self) -> &SelfReports {
        &self.self_reports
    }

    async fn send(&self, ask: NodeRequest) -> Result<(), NotLeader> {
        self.inbox.send(ask).await.map_err(|_| NotLeader)
    }
}
