//! A connection that closes if its client reads nothing.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A stream whose writes fail if the client reads nothing for a time. A client that reads slowly is not affected.
#[derive(Debug)]
pub(super) struct WriteTimeoutStream<S> {
    stream: S,
    within: Duration,
    /// The remaining time, while a write waits.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteTimeoutStream<S> {
    pub(super) const fn new(stream: S, within: Duration) -> Self {
        Self { stream, within, stalled: None }
    }

    /// Applies the time limit to the result of a write.
    fn within<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(self.within)));
        stalled.as_mut().poll(context).map(|()| {
            let why = "the client read nothing of the answer for too long";
            Err(io::Error::new(io::ErrorKind::TimedOut, why))
        })
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeoutStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeoutStream<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let paced = self.get_mut();
        let written = Pin::new(&mut paced.stream).poll_write(context, bytes);
        paced.within(written, context)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let paced = self.get_mut();
        let written = Pin::new(&mut paced.stream).poll_write_vectored(context, pieces);
        paced.within(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let paced = self.get_mut();
        let flushed = Pin::new(&mut paced.stream).poll_flush(context);
        paced.within(flushed, context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let paced = self.get_mut();
        let closed = Pin::new(&mut paced.stream).poll_shutdown(context);
        paced.within(closed, context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
    use tokio::time::Instant;

    use super::*;

    const WITHIN: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn stalled_reader_is_disconnected_and_slow_reader_is_not() {
        let (near, mut far) = duplex(16);
        let mut paced = WriteTimeoutStream::new(near, WITHIN);
        let reader = tokio::spawn(async move {
            let mut bytes = [0; 16];
            for _ in 0..20 {
                sleep(WITHIN * 9 / 10).await;
                far.read_exact(&mut bytes).await.unwrap();
            }
            far
        });
        paced.write_all(&[7; 320]).await.expect("it goes on, if slowly");
        let _far = reader.await.unwrap();
        let began = Instant::now();
        paced.write_all(&[7; 16]).await.expect("there is room");
        let stuck = paced.write_all(&[7; 16]).await.expect_err("the client reads nothing");
        assert_eq!(stuck.kind(), io::ErrorKind::TimedOut);
        assert_eq!(began.elapsed(), WITHIN);
    }
}
