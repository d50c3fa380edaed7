//! Whom a client believes.

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

/// What to do about a certificate that nobody vouches for.
const CA_ADVICE: &str = "--ca FILE or WINDLASS_CA names who does";

/// Checks that a controller is who it says.
#[derive(Clone)]
pub struct TlsClient {
    config: Arc<ClientConfig>,
    has_own_ca: bool,
}

impl TlsClient {
    /// Believes those that the file's certificates vouch for, or, without a file, those that browsers believe.
    pub fn new(ca: Option<&Path>) -> Result<Self, BadPemFile> {
        let roots = root_certificates(ca)?;
        let config = ClientConfig::builder_with_provider(provider());
        let config = config.with_safe_default_protocol_versions();
        let config = config.expect("the provider has the suites of both versions");
        let mut config = config.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { config: Arc::new(config), has_own_ca: ca.is_some() })
    }

    /// Whether only those are believed whom an authority of one's own vouches for.
    pub const fn has_own_ca(&self) -> bool {
        self.has_own_ca
    }

    /// Speaks TLS to who should be this host.
    pub async fn connect<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        host: &str,
        stream: S,
    ) -> io::Result<TlsStream<S>> {
        let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned());
        let name = name.map_err(|_| io::Error::other("no certificate can be for such a host"))?;
        let connector = TlsConnector::from(Arc::clone(&self.config));
        connector.connect(name, stream).await.map_err(|error| explain_tls_error(&error, CA_ADVICE))
    }
}

impl std::fmt::Debug for TlsClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.has_own_ca { "Trust(own)" } else { "Trust(web)" })
    }
}

/// Those that the file's certificates vouch for, or, without a file, those that browsers believe.
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

/// What is wrong, and what to do, for the mistakes that are made; `advice` is about who vouches for a certificate.
pub fn explain_tls_error(error: &io::Error, advice: &str) -> io::Error {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let Some(inner) = inner else {
        return match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                io::Error::other("it closed the connection instead of speaking TLS")
            }
            kind => io::Error::new(kind, error.to_string()),
        };
    };
    let why = match inner {
        rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "it does not speak TLS: its address may begin with http://".to_owned()
        }
        rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            format!("nobody that is believed here vouches for its certificate: {advice}")
        }
        rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => "its certificate is for another host".to_owned(),
        rustls::Error::InvalidCertificate(
            CertificateError::Expired | CertificateError::ExpiredContext { .. },
        ) => "its certificate has expired".to_owned(),
        other => format!("no TLS with it: {other}"),
    };
    io::Error::other(why)
}
