//! How a connection is made: over TCP, to a socket beside a store, or through a test's network.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::{fmt, io};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

/// A connection, as the HTTP on top of it sees it.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// A connection in the making.
pub type Dialled<'a> = Pin<Box<dyn Future<Output = io::Result<Box<dyn Stream>>> + Send + 'a>>;

/// Makes connections.
pub trait Dial: Send + Sync + fmt::Debug {
    /// Connects to a port of a host.
    fn dial<'a>(&'a self, host: &'a str, port: u16) -> Dialled<'a>;
}

/// Connections over TCP.
#[derive(Clone, Copy, Debug)]
pub struct Tcp;

impl Dial for Tcp {
    fn dial<'a>(&'a self, host: &'a str, port: u16) -> Dialled<'a> {
        Box::pin(async move {
            let stream = TcpStream::connect((host.trim_matches(['[', ']']), port)).await?;
            // A message is written whole: waiting for more of it would only delay it.
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as Box<dyn Stream>)
        })
    }
}

/// Connections to a socket in the file system, whatever the host is called.
#[derive(Clone, Debug)]
pub struct UnixSocket(pub PathBuf);

impl Dial for UnixSocket {
    fn dial<'a>(&'a self, _: &'a str, _: u16) -> Dialled<'a> {
        Box::pin(async move {
            let stream = UnixStream::connect(&self.0).await?;
            Ok(Box::new(stream) as Box<dyn Stream>)
        })
    }
}
