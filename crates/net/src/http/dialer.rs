//! How a connection is made: over TCP with TLS or without, to a socket beside a store, or through a test's network.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::{fmt, io};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

use super::controller_address::ControllerAddress;
#[cfg(feature = "tls")]
use crate::tls::TlsClient;

/// A connection, as the HTTP on top of it sees it.
pub trait ConnectionStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> ConnectionStream for S {}

/// A connection in the making.
pub type DialFuture<'a> =
    Pin<Box<dyn Future<Output = io::Result<Box<dyn ConnectionStream>>> + Send + 'a>>;

/// Makes connections.
pub trait Dialer: Send + Sync + fmt::Debug {
    /// Connects to a controller.
    fn dial<'a>(&'a self, place: &'a ControllerAddress) -> DialFuture<'a>;

    /// Whether it connects with TLS to nobody but those whom the cluster's own authority vouches for.
    fn trusts_only_cluster_ca(&self) -> bool {
        false
    }
}

/// How the controllers of a cluster are reached: over TCP, and those with TLS only if the certificates in a file vouch for
/// them, or, without a file, those that browsers believe. Says what is wrong with the file.
pub fn dialer(ca: Option<&Path>) -> Result<Arc<dyn Dialer>, String> {
    #[cfg(feature = "tls")]
    return Ok(Arc::new(TlsDialer(TlsClient::new(ca).map_err(|bad| bad.to_string())?)));
    #[cfg(not(feature = "tls"))]
    match ca {
        None => Ok(Arc::new(TcpDialer)),
        Some(_) => Err("this windlass was built without TLS".to_owned()),
    }
}

/// Connections over TCP, without TLS.
#[derive(Clone, Copy, Debug)]
pub struct TcpDialer;

impl Dialer for TcpDialer {
    fn dial<'a>(&'a self, place: &'a ControllerAddress) -> DialFuture<'a> {
        Box::pin(async move {
            if place.is_secure() {
                return Err(io::Error::other("it asks for TLS, which is not spoken here"));
            }
            Ok(Box::new(connect(place).await?) as Box<dyn ConnectionStream>)
        })
    }
}

/// Connections over TCP, with TLS to places that ask for it.
#[cfg(feature = "tls")]
#[derive(Clone, Debug)]
struct TlsDialer(TlsClient);

#[cfg(feature = "tls")]
impl Dialer for TlsDialer {
    fn dial<'a>(&'a self, place: &'a ControllerAddress) -> DialFuture<'a> {
        Box::pin(async move {
            let stream = connect(place).await?;
            if !place.is_secure() {
                return Ok(Box::new(stream) as Box<dyn ConnectionStream>);
            }
            Ok(Box::new(self.0.connect(place.host(), stream).await?) as Box<dyn ConnectionStream>)
        })
    }

    fn trusts_only_cluster_ca(&self) -> bool {
        self.0.has_own_ca()
    }
}

async fn connect(place: &ControllerAddress) -> io::Result<TcpStream> {
    let host = place.host().trim_matches(['[', ']']);
    let stream = TcpStream::connect((host, place.port())).await?;
    // A message is written whole: waiting for more of it would only delay it.
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Connections to a socket in the file system, whatever the host is called.
#[derive(Clone, Debug)]
pub struct UnixSocketDialer(pub PathBuf);

impl Dialer for UnixSocketDialer {
    fn dial<'a>(&'a self, _: &'a ControllerAddress) -> DialFuture<'a> {
        Box::pin(async move {
            let stream = UnixStream::connect(&self.0).await?;
            Ok(Box::new(stream) as Box<dyn ConnectionStream>)
        })
    }
}
