//! Listeners: sources of connections.

use std::future::{Future, ready};
use std::net::IpAddr;
use std::pin::Pin;
use std::{fmt, io};

use tokio::net::{TcpListener, UnixListener};
use windlass_net::http::ConnectionStream;

/// A source of connections.
pub trait ConnectionListener: Send + 'static {
    /// Accepts the next connection.
    fn accept(&mut self) -> impl Future<Output = io::Result<IncomingConnection>> + Send;
}

/// The peer of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionPeer {
    /// A process of this machine, on the control socket.
    Local,
    /// A client at this address.
    Remote(IpAddr),
}

/// An accepted connection.
pub struct IncomingConnection {
    /// The peer.
    pub peer: ConnectionPeer,
    /// The stream, once the handshake is complete. Other connections are accepted in the meantime.
    pub stream: HandshakeFuture,
}

/// A handshake in progress.
type HandshakeFuture = Pin<Box<dyn Future<Output = io::Result<Box<dyn ConnectionStream>>> + Send>>;

impl IncomingConnection {
    /// A connection without a handshake.
    pub fn plain(peer: ConnectionPeer, stream: impl ConnectionStream + 'static) -> Self {
        Self { peer, stream: Box::pin(ready(Ok(Box::new(stream) as Box<dyn ConnectionStream>))) }
    }
}

impl fmt::Debug for IncomingConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IncomingConnection").field("peer", &self.peer).finish_non_exhaustive()
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
