//! The output of a function on its way to the log of its step.

use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

/// The maximum number of bytes that wait to be written. A writer that can wait does; output of the others is counted
/// and left out.
const UNWRITTEN_MAX: usize = 4 << 20;

/// Output that is not written yet.
#[derive(Debug, Default)]
pub struct CallOutputBuffer {
    buffered: Mutex<BufferedOutput>,
    more: Notify,
    room: Notify,
}

#[derive(Debug, Default)]
struct BufferedOutput {
    bytes: Vec<u8>,
    left_out: u64,
}

impl CallOutputBuffer {
    /// Adds output. What finds no room is left out.
    pub fn push(&self, bytes: &[u8]) {
        {
            let mut said = self.buffered.lock().unwrap_or_else(PoisonError::into_inner);
            if said.bytes.len() + bytes.len() > UNWRITTEN_MAX {
                said.left_out += bytes.len() as u64;
                return;
            }
            said.bytes.extend_from_slice(bytes);
        }
        self.more.notify_one();
    }

    /// Adds bytes as soon as there is room for them.
    pub(super) async fn push_when_room(&self, bytes: &[u8]) {
        loop {
            let room = self.room.notified();
            let length = self.buffered.lock().unwrap_or_else(PoisonError::into_inner).bytes.len();
            if length == 0 || length + bytes.len() <= UNWRITTEN_MAX {
                return self.push(bytes);
            }
            room.await;
        }
    }

    /// Waits until there is output.
    pub(super) async fn wait_for_output(&self) {
        self.more.notified().await;
    }

    /// Takes the output since the last call.
    pub(super) fn take(&self) -> Vec<u8> {
        let mut said = self.buffered.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = std::mem::take(&mut said.bytes);
        let left_out = std::mem::take(&mut said.left_out);
        drop(said);
        if left_out > 0 {
            let notice = format!("\nwindlass: {left_out} bytes were printed too fast to be kept\n");
            bytes.extend(notice.into_bytes());
        }
        if !bytes.is_empty() {
            self.room.notify_waiters();
        }
        bytes
    }
}
