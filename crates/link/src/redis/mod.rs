//! Mailboxes in Redis 6.2 or newer: for CI runners that reach a Redis server but not each other.
//!
//! ```text
//!  PREFIX:{RUN}:place      hash: epoch, by, final status   a day after the last renewal
//!  PREFIX:{RUN}:bound      the leader's binding            for a term
//!  PREFIX:{RUN}:box:N      list: messages of a mailbox     ten minutes after the last message
//!  PREFIX:{RUN}:held:N     number of bytes in it
//! ```
//!
//! The name of the run is a hash tag, so in a Redis Cluster one node has all keys of a run; a redirect to another node is
//! followed. Each operation is a script and therefore atomic. A blocking pop takes messages: the message itself wakes the
//! reader, so no notification can be missed. Epochs begin with the server's time: after a server has lost its data, its next
//! epoch is still larger.
//!
//! The protocol is our own code (`resp`, `connection`): a client library would add 37 packages, and its connections offer
//! neither blocking pops beside other calls nor a deadline for each call.

mod address;
mod connection;
mod mailboxes;
mod reply_error;
mod resp;
mod scripts;

pub use address::{RedisAddress, RedisAddressError};
pub use mailboxes::{RedisMailboxes, open};
