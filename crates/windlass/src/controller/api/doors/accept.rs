//! Where connections come from.

use std::future::{Future, ready};
use std::net::IpAddr;
use std::pin::Pin;
use std::{fmt, io};

use tokio::net::{TcpListener, UnixListener};

use crate::link::http::Stream;

/// Where connections come from.
pub trait Accept: Send + 'static {
    /// The next one.
    fn accept(&mut self) -> impl Future<Output = io::Result<Caller>> + Send;
}

/// Who is at the other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A process of this machine that may open the controller's socket.
    Local,
    /// Whoever has this address.
    Remote(IpAddr),
}

/// Somebody at the door.
pub struct Caller {
    /// Who.
    pub peer: Peer,
    /// The connection, once both ends agree on how they speak. Others are let in meanwhile.
    pub stream: Arriving,
}

/// A connection in the making.
type Arriving = Pin<Box<dyn Future<Output = io::Result<Box<dyn Stream>>> + Send>>;

impl Caller {
    /// One with whom nothing has to be agreed on.
    pub fn plain(peer: Peer, stream: impl Stream + 'static) -> Self {
        Self { peer, stream: Box::pin(ready(Ok(Box::new(stream) as Box<dyn Stream>))) }
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").field("peer", &self.peer).finish_non_exhaustive()
    }
}

impl Accept for TcpListener {
    async fn accept(&mut self) -> io::Result<Caller> {
        let (stream, from) = Self::accept(self).await?;
        stream.set_nodelay(true)?;
        Ok(Caller::plain(Peer::Remote(from.ip()), stream))
    }
}

impl Accept for UnixListener {
    async fn accept(&mut self) -> io::Result<Caller> {
        Ok(Caller::plain(Peer::Local, Self::accept(self).await?.0))
    }
}
