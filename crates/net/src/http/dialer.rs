//! Opens connections: TCP with or without TLS, a socket beside a store, or the network of a test.

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

/// A connection for HTTP.
pub trait ConnectionStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> ConnectionStream for S {}

/// The future of a connection.
pub type DialFuture<'a> =
    Pin<Box<dyn Future<Output = io::Result<Box<dyn ConnectionStream>>> + Send + 'a>>;

/// Opens connections.
pub trait Dialer: Send + Sync + fmt::Debug {
    /// Connects to a controller.
    fn dial<'a>(&'a self, address: &'a ControllerAddress) -> DialFuture<'a>;

    /// Returns whether TLS connections accept only certificates of the cluster's private CA.
    fn trusts_only_cluster_ca(&self) -> bool {
        false
    }
}

/// Creates the dialer for the controllers of a cluster. With TLS it accepts certificates that the CA bundle has issued, or,
/// without a bundle, those of public authorities. Reports an invalid bundle.
pub fn dialer(ca: Option<&Path>) -> Result<Arc<dyn Dialer>, String> {
    #[cfg(feature = "tls")]
    return Ok(Arc::new(TlsDialer(TlsClient::new(ca).map_err(|bad| bad.to_string())?)));
    #[cfg(not(feature = "tls"))]
    match ca {
        None => Ok(Arc::new(TcpDialer)),
        Some(_) => Err("this build of windlass has no TLS".to_owned()),
    }
}

/// TCP connections without TLS.
#[derive(Clone, Copy, Debug)]
pub struct TcpDialer;

impl Dialer for TcpDialer {
    fn dial<'a>(&'a self, at: &'a ControllerAddress) -> DialFuture<'a> {
        Box::pin(async move {
            if at.is_secure() {
                return Err(io::Error::other(
                    "the address requires TLS, which this client does not have",
                ));
            }
            Ok(Box::new(connect(at).await?) as Box<dyn ConnectionStream>)
        })
    }
}

/// TCP connections, with TLS for `https` addresses.
#[cfg(feature = "tls")]
#[derive(Clone, Debug)]
struct TlsDialer(TlsClient);

#[cfg(feature = "tls")]
impl Dialer for TlsDialer {
    fn dial<'a>(&'a self, address: &'a ControllerAddress) -> DialFuture<'a> {
        Box::pin(async move {
            let stream = connect(address).await?;
            if !address.is_secure() {
                return Ok(Box::new(stream) as Box<dyn ConnectionStream>);
            }
            Ok(Box::new(self.0.connect(address.host(), stream).await?) as Box<dyn ConnectionStream>)
        })
    }

    fn trusts_only_cluster_ca(&self) -> bool {
        self.0.has_own_ca()
    }
}

async fn connect(address: &ControllerAddress) -> io::Result<TcpStream> {
    let host = address.host().trim_matches(['[', ']']);
    let stream = TcpStream::connect((host, address.port())).await?;
    // A message is written in one piece: waiting for more would only delay it.
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Connections to a socket in the file system, whatever the host name.
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
