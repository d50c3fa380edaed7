//! What stands between the network and the routes: connections, each with a bound on everything that it may take.
//!
//! | file | |
//! |---|---|
//! | `accept`, `tls` | where connections come from, and who is at the other end |
//! | `server` | the loop that takes them in and ends them in good order |
//! | `seats` | how many there may be, in all and of one address; who has to go when there are more |
//! | `paced` | a connection whose other end reads nothing is given up |
//! | `held` | an answer keeps its connection busy to its end; a stream ends with the server |

mod accept;
mod held;
mod paced;
mod seats;
mod server;
#[cfg(feature = "tls")]
mod tls;

pub use accept::{Accept, Caller, Peer};
pub use server::{Bounds, Server};
#[cfg(feature = "tls")]
pub use tls::TlsDoors;
