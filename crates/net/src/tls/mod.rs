//! TLS by rustls: what a controller shows to be who it says, and whom a client believes.
//!
//! Certificates and keys are files of PEM, as everything makes them. The cryptography is chosen in one place,
//! `crypto_provider`; nothing else knows which it is.

mod certificate_check;
mod client;
mod crypto_provider;
mod pem_files;
mod server_certificate;

pub use certificate_check::{CertificateCheck, client_config};
pub use client::{TlsClient, explain_tls_error};
pub use pem_files::BadPemFile;
pub use server_certificate::{ServerCertificate, TlsFiles};
