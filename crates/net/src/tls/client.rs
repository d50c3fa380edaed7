//! The servers that a client trusts.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{CertificateError, ClientConfig, InvalidMessage, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::crypto_provider::provider;
use super::pem_files::{self, BadPemFile};

/// How to trust a certificate that no known authority has issued.
const CA_ADVICE: &str = "name its CA bundle with --ca FILE or WINDLASS_CA";

/// Verifies the identity of controllers.
#[derive(Clone)]
pub struct TlsClient {
    config: Arc<ClientConfig>,
    has_own_ca: bool,
}

impl TlsClient {
    /// Trusts the certificates of the CA bundle, or, without one, public authorities.
    pub fn new(ca: Option<&Path>) -> Result<Self, BadPemFile> {
        let roots = root_certificates(ca)?;
        let config = ClientConfig::builder_with_provider(provider());
        let config = config.with_safe_default_protocol_versions();
        let config = config.expect("the provider has the suites of both versions");
        let mut config = config.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { config: Arc::new(config), has_own_ca: ca.is_some() })
    }

    /// Returns whether only the user's own CA is trusted.
    pub const fn has_own_ca(&self) -> bool {
        self.has_own_ca
    }

    /// Starts TLS on a connection to this host.
    pub async fn connect<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        host: &str,
        stream: S,
    ) -> io::Result<TlsStream<S>> {
        let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned());
        let name =
            name.map_err(|_| io::Error::other("no certificate can be issued for this host name"))?;
        let connector = TlsConnector::from(Arc::clone(&self.config));
        connector.connect(name, stream).await.map_err(|error| explain_tls_error(&error, CA_ADVICE))
    }
}

impl std::fmt::Debug for TlsClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.has_own_ca { "Trust(own)" } else { "Trust(web)" })
    }
}

/// Returns the trusted authorities: those of the CA bundle, or, without one, public ones.
pub(super) fn root_certificates(ca: Option<&Path>) -> Result<RootCertStore, BadPemFile> {
    let mut roots = RootCertStore::empty();
    let Some(file) = ca else {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        return Ok(roots);
    };
    for certificate in pem_files::certificates(file)? {
        let added = roots.add(certificate);
        added.map_err(|error| BadPemFile::new(file, format!("cannot be used: {error}")))?;
    }
    Ok(roots)
}

/// Explains common TLS errors and says what to do; `advice` is about unknown authorities.
pub fn explain_tls_error(error: &io::Error, advice: &str) -> io::Error {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let Some(inner) = inner else {
        return match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                io::Error::other("the server closed the connection instead of starting TLS")
            }
            kind => io::Error::new(kind, error.to_string()),
        };
    };
    let why = match inner {
        rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "the server does not use TLS: the address may need http://".to_owned()
        }
        rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            format!("no trusted authority has issued the server's certificate: {advice}")
        }
        rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => "the server's certificate is for another host".to_owned(),
        rustls::Error::InvalidCertificate(
            CertificateError::Expired | CertificateError::ExpiredContext { .. },
        ) => "the server's certificate has expired".to_owned(),
        other => format!("the TLS handshake failed: {other}"),
    };
    io::Error::other(why)
}
