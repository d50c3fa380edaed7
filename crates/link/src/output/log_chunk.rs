//! Pieces of output, and their acknowledgement.

use serde::{Deserialize, Serialize};
use windlass_store::logs::LogId;

use super::bytes;

/// Maximum number of pieces in a request: one of each log of a busy worker. A longer list is refused unread.
pub const LOG_CHUNKS_MAX: usize = 1_024;

/// A piece of an attempt's output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogChunk {
    /// The log of the attempt.
    pub log: LogId,
    /// The offset in the log.
    pub at: u64,
    /// The bytes.
    #[serde(with = "bytes")]
    pub bytes: Vec<u8>,
}

/// The acknowledgement of a request with pieces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogChunksReply {
    /// The new length of each log, in the order of the request; `None` if this worker may not write the log.
    pub sizes: Vec<Option<u64>>,
    /// The number of bytes that the next request may contain.
    pub credit: usize,
}
