//! Frames on the socket, in both directions: messages as bytes, with descriptors beside them.
//!
//! A frame is its length in four bytes, then the message. A descriptor arrives with the first byte of its message, or
//! before. The reader takes descriptors in order.

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::cmsg_space;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, recvmsg, sendmsg,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::platform;

/// The largest frame. It is larger than the arguments and environment that Linux lets a process start with, 6 MiB.
const FRAME_MAX: usize = 8 << 20;
/// The bytes of the length before a frame.
const HEAD: usize = 4;
/// The maximum number of descriptors in one write. The reader has as much room: an excess descriptor would be lost.
const DESCRIPTORS_MAX: usize = 16;
/// The bytes per read: enough for a burst of spawn orders.
const READ_BYTES: usize = 16 << 10;

/// Frames that are to be written.
#[derive(Debug, Default)]
pub(super) struct FrameOutbox {
    bytes: Vec<u8>,
    sent: usize,
    /// The descriptors of messages of which no byte has been sent.
    descriptors: VecDeque<OwnedFd>,
}

impl FrameOutbox {
    /// Returns whether everything is written.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns how many bytes wait.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() - self.sent
    }

    /// Returns whether another message with a descriptor can go with the next write.
    pub(super) fn takes_descriptor(&self) -> bool {
        self.descriptors.len() < DESCRIPTORS_MAX
    }

    /// Adds a message. A message that is too large is refused and nothing is added.
    pub(super) fn push(
        &mut self,
        message: &impl Serialize,
        descriptor: Option<OwnedFd>,
    ) -> io::Result<()> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; HEAD]);
        postcard::to_io(message, &mut self.bytes).map_err(io::Error::other)?;
        let length = self.bytes.len() - start - HEAD;
        if length > FRAME_MAX {
            self.bytes.truncate(start);
            return Err(io::ErrorKind::ArgumentListTooLong.into());
        }
        let head = u32::try_from(length).expect("FRAME_MAX is less").to_le_bytes();
        self.bytes[start..start + HEAD].copy_from_slice(&head);
        self.descriptors.extend(descriptor);
        Ok(())
    }

    /// Writes as much as the socket takes, without waiting. Returns an error of the kind `WouldBlock` if some is left.
    pub(super) fn flush(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        while self.sent < self.bytes.len() {
            self.sent += self.send(socket)?;
            // The descriptors have gone with the first byte.
            self.descriptors.clear();
        }
        self.bytes.clear();
        self.sent = 0;
        Ok(())
    }

    fn send(&self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        let mut fds = [socket; DESCRIPTORS_MAX];
        for (place, descriptor) in fds.iter_mut().zip(&self.descriptors) {
            *place = descriptor.as_fd();
        }
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut beside = SendAncillaryBuffer::new(&mut space);
        if !self.descriptors.is_empty() {
            let fits = beside.push(SendAncillaryMessage::ScmRights(&fds[..self.descriptors.len()]));
            assert!(fits, "there is room for DESCRIPTORS_MAX descriptors, and no more are taken");
        }
        let bytes = IoSlice::new(&self.bytes[self.sent..]);
        Ok(sendmsg(socket, &[bytes], &mut beside, platform::SEND)?)
    }
}

/// The result of a read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SocketRead {
    /// Some bytes arrived.
    Some,
    /// The other end is closed and everything that it sent is read.
    End,
}

/// Bytes and descriptors that have been read.
#[derive(Debug, Default)]
pub(super) struct FrameInbox {
    bytes: Vec<u8>,
    /// The index of the first byte that is not taken.
    start: usize,
    end: usize,
    descriptors: VecDeque<OwnedFd>,
}

impl FrameInbox {
    /// Reads once, without waiting.
    pub(super) fn read(&mut self, socket: BorrowedFd<'_>) -> io::Result<SocketRead> {
        self.make_room();
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut beside = RecvAncillaryBuffer::new(&mut space);
        let mut into = [IoSliceMut::new(&mut self.bytes[self.end..])];
        let message = recvmsg(socket, &mut into, &mut beside, platform::RECEIVE)?;
        if message.flags.contains(ReturnFlags::CTRUNC) {
            // A descriptor was lost on the way. Each later one would be taken for that of another step.
            return Err(io::Error::other("too many open files: a step's output was lost"));
        }
        for part in beside.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = part {
                self.descriptors.extend(descriptors.inspect(platform::set_close_on_exec));
            }
        }
        self.end += message.bytes;
        Ok(if message.bytes == 0 { SocketRead::End } else { SocketRead::Some })
    }

    fn make_room(&mut self) {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        if self.bytes.len() - self.end < READ_BYTES {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            self.bytes.resize((self.end + READ_BYTES).max(self.bytes.len()), 0);
        }
    }

    /// Returns whether a complete message has been read.
    pub(super) fn has_message(&self) -> bool {
        self.body().is_some()
    }

    /// Takes the next message, if it is complete.
    pub(super) fn next<M: DeserializeOwned>(&mut self) -> io::Result<Option<M>> {
        let Some(body) = self.body() else { return Ok(None) };
        let length = body.len();
        let message = postcard::from_bytes(body).map_err(io::Error::other)?;
        self.start += HEAD + length;
        Ok(Some(message))
    }

    fn body(&self) -> Option<&[u8]> {
        let (head, rest) = self.bytes[self.start..self.end].split_first_chunk::<HEAD>()?;
        rest.get(..u32::from_le_bytes(*head) as usize)
    }

    /// Takes the next descriptor.
    pub(super) fn descriptor(&mut self) -> Option<OwnedFd> {
        self.descriptors.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn messages_and_descriptors_arrive_in_order_however_large() {
        let (left, right) = UnixStream::pair().unwrap();
        let (mut outbox, mut inbox) = (FrameOutbox::default(), FrameInbox::default());
        let (one, two) = (UnixStream::pair().unwrap(), UnixStream::pair().unwrap());
        outbox.push(&"first", Some(one.0.into())).unwrap();
        outbox.push(&"x".repeat(1 << 20), Some(two.0.into())).unwrap();
        outbox.push(&"last", None).unwrap();
        let mut arrived = Vec::new();
        while arrived.len() < 3 {
            let _ = outbox.flush(left.as_fd());
            assert_eq!(inbox.read(right.as_fd()).unwrap(), SocketRead::Some);
            while let Some(message) = inbox.next::<String>().unwrap() {
                arrived.push(message.len());
            }
        }
        assert_eq!(arrived, [5, 1 << 20, 4]);
        for mut other in [one.1, two.1] {
            let mut descriptor = UnixStream::from(inbox.descriptor().unwrap());
            descriptor.write_all(b"!").unwrap();
            assert_eq!(io::Read::read(&mut other, &mut [0; 8]).unwrap(), 1);
        }
        drop(left);
        assert_eq!(inbox.read(right.as_fd()).unwrap(), SocketRead::End);
    }

    #[test]
    fn message_that_is_too_large_is_refused_without_effect() {
        let mut outbox = FrameOutbox::default();
        outbox.push(&"x".repeat(FRAME_MAX), None).unwrap_err();
        assert!(outbox.is_empty());
    }
}
