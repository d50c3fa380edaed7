//! Connections: accepted, bounded, and ended in good order.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::link::http::{BUFFER_MAX, Stream};
use crate::shutdown::Shutdown;

/// Connections at a time. A worker has three; who comes beyond waits to be accepted.
const CONNECTIONS_MAX: usize = 8_192;

/// How long a client may take for the head of a request, or say nothing at all.
const HEAD_WITHIN: Duration = Duration::from_secs(90);

/// How long requests that are under way may take when the server ends. Those that are parked are cut off: whoever sent
/// them asks again.
const END_WITHIN: Duration = Duration::from_millis(500);

/// The pause after a connection could not be accepted, which happens when the process has no more descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Where connections come from.
pub trait Accept: Send + 'static {
    /// The next one.
    fn accept(&mut self) -> impl Future<Output = io::Result<Box<dyn Stream>>> + Send;
}

impl Accept for TcpListener {
    async fn accept(&mut self) -> io::Result<Box<dyn Stream>> {
        let (stream, _) = Self::accept(self).await?;
        stream.set_nodelay(true)?;
        Ok(Box::new(stream))
    }
}

impl Accept for UnixListener {
    async fn accept(&mut self) -> io::Result<Box<dyn Stream>> {
        Ok(Box::new(Self::accept(self).await?.0))
    }
}

/// Answers requests that come in over connections.
#[derive(Debug)]
pub struct Server<A> {
    doors: A,
    router: Router,
    head_within: Duration,
}

impl<A: Accept> Server<A> {
    /// A server behind these doors.
    pub const fn new(doors: A, router: Router) -> Self {
        Self { doors, router, head_within: HEAD_WITHIN }
    }

    /// The same, for clients that are to be quicker with the head of a request.
    #[must_use]
    pub fn head_within(self, head_within: Duration) -> Self {
        Self { head_within, ..self }
    }

    /// Answers until it is told to end.
    pub async fn run(mut self, mut shutdown: Shutdown) {
        let seats = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        let mut connections = JoinSet::new();
        loop {
            let seat = Arc::clone(&seats).acquire_owned();
            let accepted = async { (seat.await, self.doors.accept().await) };
            tokio::select! {
                () = shutdown.wait() => break,
                (seat, stream) = accepted => match stream {
                    Ok(stream) => {
                        let served =
                            serve(stream, self.router.clone(), self.head_within, shutdown.clone());
                        connections.spawn(async move {
                            served.await;
                            drop(seat);
                        });
                    }
                    Err(_) => sleep(PAUSE).await,
                },
                Some(_) = connections.join_next() => {}
            }
        }
        drop(timeout(END_WITHIN, async { while connections.join_next().await.is_some() {} }).await);
    }
}

async fn serve(
    stream: Box<dyn Stream>,
    router: Router,
    head_within: Duration,
    mut shutdown: Shutdown,
) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .max_buf_size(BUFFER_MAX)
        .header_read_timeout(head_within)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    tokio::pin!(connection);
    tokio::select! {
        // Whatever went wrong with a connection, the other end sees it too.
        _ = connection.as_mut() => return,
        () = shutdown.wait() => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}
