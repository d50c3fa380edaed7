//! Which cryptography it is.

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};

/// ring: it takes a C compiler, as SQLite does, and neither `CMake` nor an assembler.
pub(super) fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}
