//! Transfers step output and large results from a worker to the leader, over any link.

pub(crate) mod bytes;
mod local_output_link;
mod log_chunk;
mod shipper;
mod shipping_progress;
mod spool;
mod spooled_logs;

pub use local_output_link::LocalOutputLink;
pub use log_chunk::{LOG_CHUNKS_MAX, LogChunk, LogChunksReply};
pub use shipper::{OutputLink, OutputShipper};
pub use spooled_logs::{DISK_GRACE, RoomWaitListener, SpooledLogs, UnsentOutput};
