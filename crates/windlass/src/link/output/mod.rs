//! What steps print, and results that are large, on their way between a worker and the leader, whatever link carries them.

pub(in crate::link) mod bytes;
mod piece;
mod progress;
mod shipped;
mod shipping;
mod spool;
mod stored;

pub use piece::{LogChunk, LogsTaken, PIECES_MAX};
pub use shipped::{DISK_GRACE, RoomWaitListener, ShippedLogs, UnsentOutput};
pub use shipping::{Shipping, Ships};
pub use stored::StoredOutput;
