//! The controller's doors as others find them: what it starts with, whether it is ready, and how it ends.

mod arrange;
#[cfg(feature = "tls")]
pub(crate) mod authority;
mod ready;
mod siege;
mod starting;
#[cfg(feature = "tls")]
mod tls;
