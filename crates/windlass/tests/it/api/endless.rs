//! Answers without an end and bodies that never arrive, in virtual time.

use std::convert::Infallible;
use std::io;
use std::net::Ipv4Addr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use hyper::body::{Bytes, Frame};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::Instant;
use windlass::embedded::{EmbeddedNode, LeaderOptions, Stores};
use windlass_controller::api::{
    ConnectionListener, ConnectionPeer, ControllerIdentity, HttpServer, IncomingConnection, router,
};
use windlass_net::shutdown::ShutdownSender;
use windlass_store::logs::NotifyingLogStore;

use crate::support::in_process_controller::read_to_end;

/// Sends one event, and then nothing more.
struct EndlessBody(bool);

impl hyper::body::Body for EndlessBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Pending;
        }
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"data: 1\n\n")))))
    }
}

#[tokio::test]
async fn a_stream_ends_in_good_order_with_the_server() {
    let routes = Router::new().route("/", get(|| async { Body::new(EndlessBody(false)) }));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = listener.local_addr().expect("it has one");
    let (servers, ends) = ShutdownSender::new();
    let serving = tokio::spawn(HttpServer::new(listener, routes).run(ends));
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    stream.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.expect("it listens");
    let mut first = vec![0; 1_000];
    let mut read = 0;
    while !first[..read].windows(7).any(|piece| piece == b"data: 1") {
        read += stream.read(&mut first[read..]).await.expect("it is sent");
    }
    servers.shut_down();
    let rest = read_to_end(&mut stream).await;
    let all = String::from_utf8([&first[..read], &rest].concat()).expect("it is text");
    assert!(all.ends_with("data: 1\n\n\r\n0\r\n\r\n"), "its end is one: {all:?}");
    serving.await.expect("it does not panic");
    assert!(TcpStream::connect(address).await.is_err(), "nobody is let in any more");
}

/// A listener whose connections the test itself opens.
struct TestListener(mpsc::Receiver<DuplexStream>);

impl ConnectionListener for TestListener {
    async fn accept(&mut self) -> io::Result<IncomingConnection> {
        let stream = self.0.recv().await.ok_or(io::ErrorKind::NotConnected)?;
        Ok(IncomingConnection::plain(ConnectionPeer::Remote(Ipv4Addr::LOCALHOST.into()), stream))
    }
}

/// A controller behind such a listener.
struct EndlessController {
    door: mpsc::Sender<DuplexStream>,
    _servers: ShutdownSender,
    _station: EmbeddedNode,
}

impl EndlessController {
    async fn open() -> Self {
        let stores = Stores::in_memory();
        let station = EmbeddedNode::start_leader(&stores, LeaderOptions::exclusive("here")).await;
        let station = station.expect("nobody else leads");
        let logs = Arc::new(NotifyingLogStore::new(Arc::clone(&stores.logs)));
        let about = ControllerIdentity { cluster: "test".to_owned(), advertise: String::new() };
        let routes = router(Arc::new(station.api(&stores, &logs, about)));
        let (door, doors) = mpsc::channel(1);
        let (servers, ends) = ShutdownSender::new();
        tokio::spawn(HttpServer::new(TestListener(doors), routes).run(ends));
        Self { door, _servers: servers, _station: station }
    }

    async fn come_in(&self) -> DuplexStream {
        let (stream, far) = duplex(64 << 10);
        self.door.send(far).await.expect("it is open");
        stream
    }
}

#[tokio::test(start_paused = true)]
async fn idle_stream_sends_keep_alives() {
    let house = EndlessController::open().await;
    let mut stream = house.come_in().await;
    let began = Instant::now();
    let ask = "GET /events HTTP/1.1\r\nhost: a\r\naccept: text/event-stream\r\n\r\n";
    stream.write_all(ask.as_bytes()).await.expect("it reads");
    let mut heard = String::new();
    while heard.matches(": keep-alive\nid: 1\n\n").count() < 4 {
        let mut bytes = [0; 1_000];
        let read = stream.read(&mut bytes).await.expect("it is sent");
        assert!(read > 0, "it goes on: {heard}");
        heard += std::str::from_utf8(&bytes[..read]).expect("it is text");
    }
    assert_eq!(began.elapsed().as_secs(), 60);
    assert!(heard.contains("retry: 1000\nid: 1\n\n"), "{heard}");
    assert!(!heard.contains("data:"), "nothing happened: {heard}");
}

#[tokio::test(start_paused = true)]
async fn slow_body_is_awaited_for_a_minute() {
    let house = EndlessController::open().await;
    for length in ["content-length: 1000", "transfer-encoding: chunked"] {
        let mut stream = house.come_in().await;
        let began = Instant::now();
        let head = format!("POST /runs HTTP/1.1\r\nhost: a\r\n{length}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.expect("it reads");
        let (mut reads, mut writes) = tokio::io::split(stream);
        let trickle = tokio::spawn(async move {
            while writes.write_all(b"1\r\n \r\n").await.is_ok() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        });
        let mut answer = String::new();
        reads.read_to_string(&mut answer).await.expect("it answers");
        assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("too_slow"), "{answer}");
        let took = began.elapsed().as_secs();
        assert!((60..62).contains(&took), "{took} s");
        trickle.abort();
    }
}
