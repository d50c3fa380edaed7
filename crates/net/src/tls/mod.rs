//! TLS by rustls: the certificate of a controller, and the authorities that a client trusts.
//!
//! Certificates and keys are PEM files. The cryptography is chosen in one place, `crypto_provider`; no other module knows
//! which one it is.

mod certificate_check;
mod client;
mod crypto_provider;
mod pem_files;
mod server_certificate;

pub use certificate_check::{CertificateCheck, client_config};
pub use client::{TlsClient, explain_tls_error};
pub use pem_files::BadPemFile;
pub use server_certificate::{ServerCertificate, TlsFiles};
