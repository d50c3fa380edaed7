//! The HTTP server: connections with limits on everything that they use.
//!
//! | file | content |
//! |---|---|
//! | `listener`, `tls_listener` | sources of connections, and their peers |
//! | `http_server` | the loop that accepts connections and ends them in good order |
//! | `connection_limit` | the limits of connections, and the choice of the one to close |
//! | `write_timeout` | closes a connection whose client reads nothing |
//! | `busy` | keeps a connection busy until its answer is complete; ends streams at shutdown |

mod busy;
mod connection_limit;
mod http_server;
mod listener;
#[cfg(feature = "tls")]
mod tls_listener;
mod write_timeout;

pub use http_server::{HttpServer, HttpServerLimits};
pub use listener::{ConnectionListener, ConnectionPeer, IncomingConnection};
#[cfg(feature = "tls")]
pub use tls_listener::TlsListener;
