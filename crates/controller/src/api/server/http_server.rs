//! The HTTP server: accepts connections, limits them, and ends them in good order.

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

/// The time limit for requests in progress at a shutdown. Parked requests are cut off, and their clients repeat them.
const END_WITHIN: Duration = Duration::from_millis(500);

/// The pause after a failed accept, which happens when the process has no free file descriptor.
const PAUSE: Duration = Duration::from_millis(100);

/// The read buffer of a connection. The head of a request must fit in it; the rest of a body waits at the client. By
/// default hyper's buffer grows to seven times this size and stays so.
const BUFFER_MAX: usize = 64 << 10;

/// The limits of connections.
#[derive(Clone, Copy, Debug)]
pub struct HttpServerLimits {
    /// The most connections at a time. A worker has three.
    pub connections: usize,
    /// The most connections from one address, which many workers or all clients of a proxy may share.
    pub connections_per_address: usize,
    /// The time limit of a TLS handshake.
    pub handshake_within: Duration,
    /// The time limit for the head of a request, and for an idle connection.
    pub head_within: Duration,
    /// How long a client may read nothing of an answer. It resumes a stream by the id of its last event, and requests a
    /// page again.
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

/// A server that answers requests of its connections.
#[derive(Debug)]
pub struct HttpServer<A> {
    listener: A,
    router: Router,
    bounds: HttpServerLimits,
}

impl<A: ConnectionListener> HttpServer<A> {
    /// Creates a server for a listener.
    pub fn new(listener: A, router: Router) -> Self {
        Self { listener, router, bounds: HttpServerLimits::default() }
    }

    /// Sets other limits.
    #[must_use]
    pub fn within(self, bounds: HttpServerLimits) -> Self {
        Self { bounds, ..self }
    }

    /// Answers requests until shutdown.
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
                    // Without a permit the connection is closed here.
                    if let Some(seat) = seats.take(caller.peer, Instant::now()) {
                        connections.spawn(host.clone().receive(caller, seat));
                    }
                }
                Some(_) = connections.join_next() => {}
            }
        }
        // No new connections are accepted while the open ones complete.
        drop(doors);
        drop(timeout(END_WITHIN, async { while connections.join_next().await.is_some() {} }).await);
    }
}

/// The handler of one connection.
#[derive(Clone, Debug)]
struct HttpConnectionHandler {
    router: Router,
    bounds: HttpServerLimits,
    shutdown: ShutdownReceiver,
}

impl HttpConnectionHandler {
    /// Serves a connection until the client closes it or it is evicted.
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
            // Errors of a connection need no report: the client sees them too.
            _ = connection.as_mut() => return,
            () = shutdown.wait() => {}
        }
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    }
}
