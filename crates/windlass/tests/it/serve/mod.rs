//! The life cycle of a controller: its start, its readiness and its end.

mod overload;
mod ready;
mod starting;
#[cfg(feature = "tls")]
mod tls;
