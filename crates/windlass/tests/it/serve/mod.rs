//! The controller's doors as others find them: what it starts with, whether it is ready, and how it ends.

mod overload;
mod ready;
mod starting;
#[cfg(feature = "tls")]
mod tls;
