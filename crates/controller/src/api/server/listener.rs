//! Where connections come from.

use std::future::{Future, ready};
use std::net::IpAddr;
use std::pin::Pin;
use std::{fmt, io};

use tokio::net::{TcpListener, UnixListener};
use windlass_net::http::ConnectionStream;

/// Where connections come from.
pub trait ConnectionListener: Send + 'static {
    /// The next one.
    fn accept(&mut self) -> impl Future<Output = io::Result<IncomingConnection>> + Send;
}

/// Who is at the other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionPeer {
    /// A process of this machine that may open the controller's socket.
    Local,
    /// Whoever has this address.
    Remote(IpAddr),
}

/// Somebody at the door.
pub struct IncomingConnection {
    /// Who.
    pub peer: ConnectionPeer,
    /// The connection, once both ends agree on how they speak. Others are let in meanwhile.
    pub stream: HandshakeFuture,
}

/// A connection in the making.
type HandshakeFuture = Pin<Box<dyn Future<Output = io::Result<Box<dyn ConnectionStream>>> + Send>>;

impl IncomingConnection {
    /// One with whom nothing has to be agreed on.
    pub fn plain(peer: ConnectionPeer, stream: impl ConnectionStream + 'static) -> Self {
        Self { peer, stream: Box::pin(ready(Ok(Box::new(stream) as Box<dyn ConnectionStream>))) }
    }
}

impl fmt::Debug for IncomingConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").field("peer", &self.peer).finish_non_exhaustive()
    }
}

impl ConnectionListener for TcpListener {
    async fn accept(&mut self) -> io::Result<IncomingConnection> {
        let (stream, from) = Self::accept(self).await?;
        stream.set_nodelay(true)?;
        Ok(IncomingConnection::plain(ConnectionPeer::Remote(from.ip()), stream))
    }
}

impl ConnectionListener for UnixListener {
    async fn accept(&mut self) -> io::Result<IncomingConnection> {
        Ok(IncomingConnection::plain(ConnectionPeer::Local, Self::accept(self).await?.0))
    }
}
