//! Pieces of output, and what becomes of them.

use serde::{Deserialize, Serialize};
use windlass_store::logs::LogId;

use super::bytes;

/// Pieces that one request may have: one of each log of a busy worker. A longer list is refused unread.
pub const LOG_CHUNKS_MAX: usize = 1_024;

/// A piece of an attempt's output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogChunk {
    /// Of which attempt.
    pub log: LogId,
    /// Where in the log it begins.
    pub at: u64,
    /// The bytes.
    #[serde(with = "bytes")]
    pub bytes: Vec<u8>,
}

/// What became of the pieces of one request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogChunksReply {
    /// How long each log is now, in the order of the request; `None` for one that is not this worker's to write.
    pub sizes: Vec<Option<u64>>,
    /// How many bytes the next request may carry.
    pub credit: usize,
}
