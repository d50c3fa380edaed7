//! What several crates need to talk to other processes, and to know when to stop.
//!
//! | module | content |
//! |---|---|
//! | [`clock`], [`random`], [`shutdown`] | the clock of leases and terms, random numbers, the shutdown signal |
//! | [`credentials`] | the secrets by which workers and clients prove their identity |
//! | [`files`] | files and folders that only their owner can read, and that are durable before they are used |
//! | [`tls`] | certificates of servers, and the authorities that clients trust |
//! | [`http`] | an HTTP client with timeouts, redirects between controllers, and tokens |

pub mod clock;
pub mod credentials;
pub mod files;
#[cfg(feature = "http")]
pub mod http;
pub mod percent_encoding;
pub mod random;
pub mod shutdown;
#[cfg(feature = "tls")]
pub mod tls;
