//! Nodes of one host that share a folder: a standby passes its requests to the leader over a Unix socket.
//!
//! `PEERS.md` describes the protocol.

mod frames;
mod leader_connection;
#[cfg(unix)]
mod peer_server;
#[cfg(test)]
mod tests;

pub(super) use leader_connection::{LeaderAnswer, LeaderConnection};
#[cfg(unix)]
pub use peer_server::PeerServer;
