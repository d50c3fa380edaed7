//! The messages between a standby and the leader, and their frames.

use std::io;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use windlass_core::engine::{EngineAnswer, EngineRequest};
use windlass_core::session::{Exchange, ExchangeReply};
use windlass_store::db::STORE_FORMAT;

/// The largest frame: the plan of a run of a million steps with the outputs that it reuses.
const FRAME_MAX: usize = 256 << 20;

/// Bytes by which the buffer of a frame grows: a length that no bytes follow allocates no more than this.
const GROWTH: usize = 1 << 20;

/// The first frame of the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PeerHello {
    /// The version of the program, and the format of its stores.
    version: String,
}

impl PeerHello {
    /// Returns the hello of this program.
    pub(super) fn own() -> Self {
        Self { version: format!("{} {STORE_FORMAT}", env!("CARGO_PKG_VERSION")) }
    }
}

/// A request of a standby.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum PeerRequest {
    /// Whether the leader answers.
    Ping,
    /// A request to the engine.
    Ask(Box<EngineRequest>),
    /// An exchange of a worker.
    Exchange(Exchange),
}

/// An answer of the leader.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum PeerAnswer {
    /// It answers.
    Pong,
    /// The answer of the engine.
    Answered(EngineAnswer),
    /// The reply to an exchange.
    Exchanged(ExchangeReply),
    /// The node has stopped leading before it could answer.
    NotLeader,
}

/// A message with the number of its request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Numbered<T> {
    /// The number of the request.
    pub(super) number: u64,
    /// The request or its answer.
    pub(super) message: T,
}

/// Writes a frame.
pub(super) async fn write_frame(
    stream: &mut (impl AsyncWrite + Unpin),
    message: &impl Serialize,
) -> io::Result<()> {
    // The length is filled in behind the message, so that a frame is one write.
    let frame = postcard::to_extend(message, vec![0; 4]).map_err(io::Error::other)?;
    let len = frame.len() - 4;
    if len > FRAME_MAX {
        return Err(too_long(len));
    }
    let mut frame = frame;
    let len = u32::try_from(len).expect("the limit of a frame fits");
    frame[..4].copy_from_slice(&len.to_le_bytes());
    stream.write_all(&frame).await
}

/// Reads a frame. The end of the stream is an error.
pub(super) async fn read_frame<T: DeserializeOwned>(
    stream: &mut (impl AsyncRead + Unpin),
) -> io::Result<T> {
    let mut len = [0; 4];
    stream.read_exact(&mut len).await?;
    let len = u32::from_le_bytes(len) as usize;
    if len > FRAME_MAX {
        return Err(too_long(len));
    }
    let mut frame = Vec::with_capacity(len.min(GROWTH));
    let read = stream.take(len as u64).read_to_end(&mut frame).await?;
    if read < len {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    postcard::from_bytes(&frame).map_err(io::Error::other)
}

fn too_long(len: usize) -> io::Error {
    io::Error::other(format!("a message of {len} bytes exceeds the limit of {FRAME_MAX}"))
}
