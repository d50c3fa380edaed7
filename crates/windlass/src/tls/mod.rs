//! TLS by rustls: what a controller shows to be who it says, and whom a client believes.
//!
//! Certificates and keys are files of PEM, as everything makes them. The cryptography is chosen in one place,
//! `provider`; nothing else knows which it is.

mod certificates;
mod files;
#[cfg(feature = "postgres")]
mod levels;
mod provider;
mod trust;

pub use certificates::{Certificates, TlsFiles};
pub use files::BadFile;
#[cfg(feature = "postgres")]
pub(crate) use levels::{Level, client};
pub use trust::Trust;
#[cfg(feature = "postgres")]
pub(crate) use trust::explain;
