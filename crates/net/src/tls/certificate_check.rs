//! How strictly a client checks a server's certificate, where the user can choose.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

use super::client::root_certificates;
use super::crypto_provider::provider;
use super::pem_files::BadPemFile;

/// The strictness of the check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateCheck {
    /// No check: this protects against eavesdropping, but not against a man in the middle.
    EncryptOnly,
    /// A trusted authority issued the certificate, for any host name.
    VerifyCa,
    /// A trusted authority issued the certificate for this host name.
    VerifyFull,
}

/// Creates the client configuration for this check. It trusts the CA bundle, or, without one, public authorities.
pub fn client_config(
    level: CertificateCheck,
    ca: Option<&Path>,
) -> Result<Arc<ClientConfig>, BadPemFile> {
    let config = ClientConfig::builder_with_provider(provider());
    let config = config.with_safe_default_protocol_versions();
    let config = config.expect("the provider has the suites of both versions");
    let config = match level {
        CertificateCheck::VerifyFull => config.with_root_certificates(root_certificates(ca)?),
        CertificateCheck::VerifyCa | CertificateCheck::EncryptOnly => {
            let vouched =
                (level == CertificateCheck::VerifyCa).then(|| root_certificates(ca)).transpose()?;
            let verifier = Arc::new(AnyNameVerifier::new(vouched));
            config.dangerous().with_custom_certificate_verifier(verifier)
        }
    };
    Ok(Arc::new(config.with_no_client_auth()))
}

/// Checks a certificate but not its host name.
#[derive(Debug)]
struct AnyNameVerifier {
    ca_verifier: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl AnyNameVerifier {
    fn new(roots: Option<RootCertStore>) -> Self {
        let provider = provider();
        let ca_verifier = roots.map(|roots| {
            let verifier =
                WebPkiServerVerifier::builder_with_provider(roots.into(), Arc::clone(&provider));
            verifier.build().expect("a bundle has a certificate, and there are public authorities")
        });
        Self { ca_verifier, provider }
    }
}

impl ServerCertVerifier for AnyNameVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(strict) = &self.ca_verifier else { return Ok(ServerCertVerified::assertion()) };
        let done =
            strict.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match done {
            // The name is checked last: everything before was valid.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            done => done,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
