//! TLS connections to a server, by rustls.

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
use windlass_net::tls::{CertificateCheck, client_config, explain_tls_error};

/// The advice for a certificate of an unknown authority.
const CA_ADVICE: &str = "add its CA bundle to the address with sslrootcert=FILE";

/// The TLS configuration of an address; without one, connections are not encrypted.
#[derive(Clone)]
pub(super) struct PgTls {
    config: Option<Arc<ClientConfig>>,
}

/// A refusal of the server's certificate or of TLS; a retry does not help.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct PgTlsRefused(String);

impl PgTls {
    pub(super) const fn disabled() -> Self {
        Self { config: None }
    }

    pub(super) fn encrypted() -> Result<Self, String> {
        Self::of(CertificateCheck::EncryptOnly, None)
    }

    pub(super) fn verify_ca(ca: Option<&Path>) -> Result<Self, String> {
        Self::of(CertificateCheck::VerifyCa, ca)
    }

    pub(super) fn verify_full(ca: Option<&Path>) -> Result<Self, String> {
        Self::of(CertificateCheck::VerifyFull, ca)
    }

    fn of(level: CertificateCheck, ca: Option<&Path>) -> Result<Self, String> {
        let config = client_config(level, ca).map_err(|bad| bad.to_string())?;
        Ok(Self { config: Some(config) })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for PgTls {
    type Stream = PgTlsStream<S>;
    type TlsConnect = PgTlsHandshake;
    type Error = PgTlsRefused;

    fn make_tls_connect(&mut self, domain: &str) -> Result<PgTlsHandshake, PgTlsRefused> {
        Ok(PgTlsHandshake { config: self.config.clone(), host: domain.to_owned() })
    }
}

/// The TLS handshake of a new connection.
pub(super) struct PgTlsHandshake {
    config: Option<Arc<ClientConfig>>,
    host: String,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for PgTlsHandshake {
    type Stream = PgTlsStream<S>;
    type Error = Box<dyn std::error::Error + Send + Sync>;
    type Future = Pin<Box<dyn Future<Output = Result<PgTlsStream<S>, Self::Error>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let Self { config, host } = self;
            let config = config.ok_or_else(|| PgTlsRefused("TLS is turned off".to_owned()))?;
            let name = ServerName::try_from(host).map_err(|_| {
                PgTlsRefused("the host is not a name that a certificate can have".to_owned())
            })?;
            match TlsConnector::from(config).connect(name, stream).await {
                Ok(stream) => Ok(PgTlsStream(stream)),
                // A network error may be temporary.
                Err(error) if error.get_ref().is_none() => Err(error.into()),
                Err(error) => {
                    Err(PgTlsRefused(explain_tls_error(&error, CA_ADVICE).to_string()).into())
                }
            }
        })
    }
}

/// A TLS connection.
pub(super) struct PgTlsStream<S>(tokio_rustls::client::TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for PgTlsStream<S> {
    /// Channel binding is not used: it would need a certificate parser to find the hash algorithm of the signature.
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for PgTlsStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for PgTlsStream<S> {
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

impl fmt::Debug for PgTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.config.is_some() { "Security(TLS)" } else { "Security(none)" })
    }
}
