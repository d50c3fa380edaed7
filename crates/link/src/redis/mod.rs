//! Mailboxes in Redis 6.2 or newer: for runners that reach one, and not each other.
//!
//! ```text
//!  PREFIX:{RUN}:place      hash: epoch, by, epitaph         a day after the last sign of life
//!  PREFIX:{RUN}:bound      who leads                        for a term
//!  PREFIX:{RUN}:box:N      list: the letters of a mailbox   ten minutes after the last one
//!  PREFIX:{RUN}:held:N     bytes in it
//! ```
//!
//! The name of the run is a hash tag, so that in a Redis Cluster all keys of a run are on one node; who is sent there by
//! another follows. What reads and writes is a script each, and therefore whole. Letters are taken by a blocking pop: who
//! waits is woken by the letter itself, there is no notification to miss. Epochs begin with the server's time: one of a
//! server that has lost its data is larger all the same.
//!
//! The protocol is spoken here (`resp`, `connection`), in as many lines as a client library's configuration would take: a client
//! would bring 37 packages, and its connections know neither pops that block beside others nor deadlines of each call.

mod address;
mod connection;
mod mailboxes;
mod reply_error;
mod resp;
mod scripts;

pub use address::{RedisAddress, RedisAddressError};
pub use mailboxes::{RedisMailboxes, open};
