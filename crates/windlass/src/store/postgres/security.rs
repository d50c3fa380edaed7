//! TLS to a server, by rustls.

use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::{fmt, io};

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;

use crate::tls::{Level, client, explain};

/// What to do about the certificate that a certificate of nobody vouches for.
const ADVICE: &str = "sslrootcert=FILE in the address names who does";

/// How a connection is secured, where it is.
#[derive(Clone)]
pub(super) struct Security {
    config: Option<Arc<ClientConfig>>,
}

/// A server that does not show what it should: trying again does not help.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Refused(String);

impl Security {
    pub(super) const fn none() -> Self {
        Self { config: None }
    }

    pub(super) fn encrypted() -> Result<Self, String> {
        Self::of(Level::Encrypted, None)
    }

    pub(super) fn vouched(ca: Option<&Path>) -> Result<Self, String> {
        Self::of(Level::Vouched, ca)
    }

    pub(super) fn full(ca: Option<&Path>) -> Result<Self, String> {
        Self::of(Level::Full, ca)
    }

    fn of(level: Level, ca: Option<&Path>) -> Result<Self, String> {
        let config = client(level, ca).map_err(|bad| bad.to_string())?;
        Ok(Self { config: Some(config) })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Security {
    type Stream = Secured<S>;
    type TlsConnect = Handshake;
    type Error = Refused;

    fn make_tls_connect(&mut self, domain: &str) -> Result<Handshake, Refused> {
        Ok(Handshake { config: self.config.clone(), host: domain.to_owned() })
    }
}

/// What is to be done with a new connection.
pub(super) struct Handshake {
    config: Option<Arc<ClientConfig>>,
    host: String,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for Handshake {
    type Stream = Secured<S>;
    type Error = Box<dyn std::error::Error + Send + Sync>;
    type Future = Pin<Box<dyn Future<Output = Result<Secured<S>, Self::Error>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let Self { config, host } = self;
            let config = config.ok_or_else(|| Refused("TLS is turned off".to_owned()))?;
            let name = ServerName::try_from(host)
                .map_err(|_| Refused("no certificate can be for such a host".to_owned()))?;
            match TlsConnector::from(config).connect(name, stream).await {
                Ok(stream) => Ok(Secured(stream)),
                // What the network did may pass.
                Err(error) if error.get_ref().is_none() => Err(error.into()),
                Err(error) => Err(Refused(explain(&error, ADVICE).to_string()).into()),
            }
        })
    }
}

/// A connection that speaks TLS.
pub(super) struct Secured<S>(tokio_rustls::client::TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Secured<S> {
    /// Passwords are proved without it: it would take a reader of certificates for the hash that each is signed with.
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Secured<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Secured<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

impl fmt::Debug for Security {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.config.is_some() { "Security(TLS)" } else { "Security(none)" })
    }
}
