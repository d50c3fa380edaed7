//! Connections: taken in, bounded, and ended in good order.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use windlass_net::http::ConnectionStream;
use windlass_net::shutdown::ShutdownReceiver;

use super::busy::BusyBody;
use super::connection_limit::{ConnectionLimit, ConnectionPermit};
use super::listener::{ConnectionListener, ConnectionPeer, IncomingConnection};
use super::write_timeout::WriteTimeoutStream;

/// How long requests that are under way may take when the server ends. Those that are parked are cut off: whoever sent
/// them asks again.
const END_WITHIN: Duration = Duration::from_millis(500);

/// The pause after a connection could not be accepted, which happens when the process has no more descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Bytes that are read ahead of what is made of them, for each connection. A head has to fit in it; of a body, the rest
/// waits with whoever sends it. Left to itself it would grow to seven times as much, and be kept so.
const BUFFER_MAX: usize = 64 << 10;

/// What connections may take.
#[derive(Clone, Copy, Debug)]
pub struct HttpServerLimits {
    /// Connections at a time. A worker has three.
    pub connections: usize,
    /// Of them those of one address: many workers, or all clients of a proxy, may share one.
    pub connections_per_address: usize,
    /// How long both ends may take to agree on how they speak.
    pub handshake_within: Duration,
    /// How long a client may take for the head of a request, or say nothing at all.
    pub head_within: Duration,
    /// How long a client may read nothing of an answer. A stream is resumed by the id of its last event, a page is asked
    /// for again.
    pub read_within: Duration,
}

impl Default for HttpServerLimits {
    fn default() -> Self {
        Self {
            connections: 8_192,
            connections_per_address: 4_096,
            handshake_within: Duration::from_secs(10),
            head_within: Duration::from_secs(90),
            read_within: Duration::from_secs(30),
        }
    }
}

/// Answers requests that come in over connections.
#[derive(Debug)]
pub struct HttpServer<A> {
    listener: A,
    router: Router,
    bounds: HttpServerLimits,
}

impl<A: ConnectionListener> HttpServer<A> {
    /// A server behind these doors.
    pub fn new(listener: A, router: Router) -> Self {
        Self { listener, router, bounds: HttpServerLimits::default() }
    }

    /// The same, with other bounds.
    #[must_use]
    pub fn within(self, bounds: HttpServerLimits) -> Self {
        Self { bounds, ..self }
    }

    /// Answers until it is told to end.
    pub async fn run(self, mut shutdown: ShutdownReceiver) {
        let Self { listener: mut doors, router, bounds } = self;
        let seats = ConnectionLimit::new(bounds.connections, bounds.connections_per_address);
        let host = HttpConnectionHandler { router, bounds, shutdown: shutdown.clone() };
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                () = shutdown.wait() => break,
                caller = doors.accept() => {
                    let Ok(caller) = caller else {
                        seats.evict_idle();
                        sleep(PAUSE).await;
                        continue;
                    };
                    // Who gets no seat sees that the connection is closed.
                    if let Some(seat) = seats.take(caller.peer, Instant::now()) {
                        connections.spawn(host.clone().receive(caller, seat));
                    }
                }
                Some(_) = connections.join_next() => {}
            }
        }
        // Nobody else is let in while those who are here are seen out.
        drop(doors);
        drop(timeout(END_WITHIN, async { while connections.join_next().await.is_some() {} }).await);
    }
}

/// What every connection is served with.
#[derive(Clone, Debug)]
struct HttpConnectionHandler {
    router: Router,
    bounds: HttpServerLimits,
    shutdown: ShutdownReceiver,
}

impl HttpConnectionHandler {
    /// Serves somebody until the other end goes, or has to.
    async fn receive(self, caller: IncomingConnection, seat: ConnectionPermit) {
        let IncomingConnection { peer, stream } = caller;
        let seat = Arc::new(seat);
        let served = async {
            if let Ok(Ok(stream)) = timeout(self.bounds.handshake_within, stream).await {
                self.serve(stream, peer, &seat).await;
            }
        };
        tokio::select! {
            () = served => {}
            () = seat.evicted() => {}
        }
    }

    async fn serve(
        &self,
        stream: Box<dyn ConnectionStream>,
        peer: ConnectionPeer,
        seat: &Arc<ConnectionPermit>,
    ) {
        let router = TowerToHyperService::new(self.router.clone());
        let answer = |mut request: hyper::Request<_>| {
            let (busy, ends) = (seat.busy(), self.shutdown.clone());
            request.extensions_mut().insert(peer);
            let answered = router.call(request);
            async move {
                let answered = answered.await?;
                Ok::<_, Infallible>(answered.map(|body| BusyBody::new(body, busy, ends)))
            }
        };
        let stream = TokioIo::new(WriteTimeoutStream::new(stream, self.bounds.read_within));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .max_buf_size(BUFFER_MAX)
            .header_read_timeout(self.bounds.head_within)
            .serve_connection(stream, service_fn(answer));
        tokio::pin!(connection);
        let mut shutdown = self.shutdown.clone();
        tokio::select! {
            // Whatever went wrong with a connection, the other end sees it too.
            _ = connection.as_mut() => return,
            () = shutdown.wait() => {}
        }
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    }
}
