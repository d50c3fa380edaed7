//! What steps print, on its way from a worker to the leader, whatever link carries it.

pub(in crate::link) mod bytes;
mod piece;
mod shipping;
mod spool;

pub use piece::{LogChunk, LogsTaken};
pub use shipping::{ShippedLogs, Shipping, Ships};
