//! TLS by rustls: what a controller shows to be who it says, and whom a client believes.
//!
//! Certificates and keys are files of PEM, as everything makes them. The cryptography is chosen in one place,
//! `provider`; nothing else knows which it is.

mod certificates;
mod files;
mod provider;
mod trust;

pub use certificates::{Certificates, TlsFiles};
pub use files::BadFile;
pub use trust::Trust;
