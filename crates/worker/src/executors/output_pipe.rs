//! The pipe that receives a step's output.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::Errno;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::time::{Instant, sleep_until};

/// The number of bytes per read.
const READ_BYTES: usize = 16 << 10;

/// How long a pipe is not watched. Most short steps print nothing, or less than a pipe holds, and are over by then. A
/// wakeup for each of them would cost more than the read.
const UNWATCHED_FOR: Duration = Duration::from_millis(2);

/// The reading end of the pipe.
#[derive(Debug)]
pub(super) struct OutputPipe {
    pipe: OutputPipeState,
    buffer: Vec<u8>,
}

#[derive(Debug)]
enum OutputPipeState {
    Unwatched { pipe: OwnedFd, until: Instant },
    Watched(pipe::Receiver),
    Ended,
}

impl OutputPipe {
    /// Reads from a pipe that does not block.
    pub(super) fn new(pipe: OwnedFd) -> Self {
        let until = Instant::now() + UNWATCHED_FOR;
        Self { pipe: OutputPipeState::Unwatched { pipe, until }, buffer: Vec::new() }
    }

    /// Waits for output and returns it; empty at the end. The future may be dropped without losing anything.
    pub(super) async fn read(&mut self) -> &[u8] {
        if let OutputPipeState::Unwatched { until, .. } = &self.pipe {
            sleep_until(*until).await;
            self.watch();
        }
        self.make_room();
        let read = match &mut self.pipe {
            OutputPipeState::Watched(pipe) => pipe.read_buf(&mut self.buffer).await,
            OutputPipeState::Unwatched { .. } | OutputPipeState::Ended => Ok(0),
        };
        self.note(&read)
    }

    /// Returns the output that is there or arrives; empty at the end. It is for a step that is over, so it always
    /// watches the pipe, and reads first what is there.
    pub(super) async fn read_remaining(&mut self) -> &[u8] {
        self.make_room();
        let room = rustix::buffer::spare_capacity(&mut self.buffer);
        let read = match &mut self.pipe {
            OutputPipeState::Unwatched { pipe, until } => {
                *until = Instant::now();
                rustix::io::read(pipe, room)
            }
            OutputPipeState::Watched(pipe) => rustix::io::read(pipe, room),
            OutputPipeState::Ended => Ok(0),
        };
        match read {
            Err(Errno::AGAIN) => self.read().await,
            read => self.note(&read.map_err(io::Error::from)),
        }
    }

    fn watch(&mut self) {
        let OutputPipeState::Unwatched { pipe, .. } =
            std::mem::replace(&mut self.pipe, OutputPipeState::Ended)
        else {
            return;
        };
        if let Ok(pipe) = pipe::Receiver::from_owned_fd_unchecked(pipe) {
            self.pipe = OutputPipeState::Watched(pipe);
        }
    }

    fn make_room(&mut self) {
        self.buffer.clear();
        self.buffer.reserve(READ_BYTES);
    }

    fn note(&mut self, read: &io::Result<usize>) -> &[u8] {
        if !matches!(read, Ok(1..)) {
            self.pipe = OutputPipeState::Ended;
        }
        &self.buffer
    }
}
