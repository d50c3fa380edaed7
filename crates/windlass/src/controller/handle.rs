//! How everybody else talks to a node.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use windlass_core::engine::{Answer, Request};
use windlass_core::session::{Exchange, Reply};

use super::metrics::Meters;
use super::self_reports::SelfReports;
use super::view::Views;

/// This node does not lead, or stopped leading before it could answer: whether the request took effect is not known, and
/// repeating it is safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this node does not lead")]
pub struct NotLeader;

/// A way to a node, as many as one likes.
#[derive(Clone, Debug)]
pub struct Handle {
    pub(super) inbox: mpsc::Sender<Ask>,
    pub(super) views: Arc<Views>,
    pub(super) meters: Arc<Meters>,
    pub(super) self_reports: Arc<SelfReports>,
}

/// A question on its way to the leader.
#[derive(Debug)]
pub(super) enum Ask {
    Request(Box<Request>, oneshot::Sender<Answer>),
    Exchange(Exchange, oneshot::Sender<Reply>),
}

impl Handle {
    /// Has a request decided; the answer comes when it is durable. Waits while the leader has as much to do as it takes.
    pub async fn ask(&self, request: Request) -> Result<Answer, NotLeader> {
        let (answer, answered) = oneshot::channel();
        self.hand_in(Ask::Request(Box::new(request), answer)).await?;
        answered.await.map_err(|_| NotLeader)
    }

    /// Makes a worker's round trip. The reply may take as long as the leader has nothing to say; a newer exchange of the
    /// same worker ends the wait.
    pub async fn exchange(&self, exchange: Exchange) -> Result<Reply, NotLeader> {
        let (reply, replied) = oneshot::channel();
        self.hand_in(Ask::Exchange(exchange, reply)).await?;
        replied.await.map_err(|_| NotLeader)
    }

    /// What is durable.
    pub fn views(&self) -> &Arc<Views> {
        &self.views
    }

    /// What is counted at this node.
    pub fn meters(&self) -> &Arc<Meters> {
        &self.meters
    }

    /// What plain workers say of themselves.
    pub fn self_reports(&self) -> &SelfReports {
        &self.self_reports
    }

    async fn hand_in(&self, ask: Ask) -> Result<(), NotLeader> {
        self.inbox.send(ask).await.map_err(|_| NotLeader)
    }
}
