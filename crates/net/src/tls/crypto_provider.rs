//! The cryptography of TLS.

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};

/// ring: it needs a C compiler, as SQLite does, but neither `CMake` nor an assembler.
pub(super) fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}
