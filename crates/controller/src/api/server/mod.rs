//! What stands between the network and the routes: connections, each with a bound on everything that it may take.
//!
//! | file | |
//! |---|---|
//! | `listener`, `tls_listener` | where connections come from, and who is at the other end |
//! | `http_server` | the loop that takes them in and ends them in good order |
//! | `connection_limit` | how many there may be, in all and of one address; who has to go when there are more |
//! | `write_timeout` | a connection whose other end reads nothing is given up |
//! | `busy` | an answer keeps its connection busy to its end; a stream ends with the server |

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
