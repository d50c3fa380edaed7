//! A proxy in front of a controller whose connections fail in a way that the test has chosen.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What happens to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionFault {
    /// It is reset after this number of bytes from the client.
    ResetRequest(u64),
    /// It is reset after this number of bytes from the server.
    ResetAnswer(u64),
    /// The first byte of the client that is at this place or later is changed.
    FlipRequest(u64),
    /// The same with a byte of the server.
    FlipAnswer(u64),
    /// The first request is answered with 503, and the connection is closed.
    Unavailable,
}

/// A proxy. Connections without a fault pass everything.
#[derive(Debug)]
pub(crate) struct FaultyProxy {
    pub(crate) address: SocketAddr,
    faults: Arc<Mutex<VecDeque<ConnectionFault>>>,
    received: Arc<AtomicU64>,
    accepting: JoinHandle<()>,
}

impl FaultyProxy {
    /// A proxy for this server.
    pub(crate) async fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        let (faults, received) = (Arc::default(), Arc::default());
        let (next, count) = (Arc::clone(&faults), Arc::clone(&received));
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let next: &Mutex<VecDeque<ConnectionFault>> = &next;
                let fault = next.lock().expect("no test panics here").pop_front();
                tokio::spawn(carry(client, server, fault, Arc::clone(&count)));
            }
        });
        Self { address, faults, received, accepting }
    }

    /// The next connections have these faults, and no others.
    pub(crate) fn fail(&self, faults: impl IntoIterator<Item = ConnectionFault>) {
        *self.faults.lock().expect("no test panics here") = faults.into_iter().collect();
    }

    /// The number of faults that have not found their connection.
    pub(crate) fn faults_left(&self) -> usize {
        self.faults.lock().expect("no test panics here").len()
    }

    /// The bytes that clients have sent since the last call.
    pub(crate) fn take_received(&self) -> u64 {
        self.received.swap(0, Ordering::SeqCst)
    }
}

impl Drop for FaultyProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn carry(
    mut client: TcpStream,
    server: SocketAddr,
    fault: Option<ConnectionFault>,
    received: Arc<AtomicU64>,
) {
    if fault == Some(ConnectionFault::Unavailable) {
        let mut head = [0; 1 << 12];
        drop(client.read(&mut head).await);
        let answer =
            "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        drop(client.write_all(answer.as_bytes()).await);
        return;
    }
    let Ok(far) = TcpStream::connect(server).await else { return };
    for stream in [&client, &far] {
        stream.set_zero_linger().expect("an open socket");
    }
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = far.into_split();
    let (mut request, mut answer) = (PumpFault::default(), PumpFault::default());
    match fault {
        Some(ConnectionFault::ResetRequest(at)) => request.reset = Some(at),
        Some(ConnectionFault::ResetAnswer(at)) => answer.reset = Some(at),
        Some(ConnectionFault::FlipRequest(at)) => request.flip = Some(at),
        Some(ConnectionFault::FlipAnswer(at)) => answer.flip = Some(at),
        Some(ConnectionFault::Unavailable) | None => {}
    }
    let sent = AtomicU64::new(0);
    // The end of one direction resets both.
    tokio::select! {
        () = pump(from_client, to_server, request, &received) => {}
        () = pump(from_server, to_client, answer, &sent) => {}
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct PumpFault {
    reset: Option<u64>,
    flip: Option<u64>,
}

async fn pump(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut fault: PumpFault,
    count: &AtomicU64,
) {
    let (mut bytes, mut passed) = (vec![0; 1 << 16], 0);
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        let part = &mut bytes[..read];
        let end = passed + read as u64;
        count.fetch_add(read as u64, Ordering::SeqCst);
        if fault.reset.is_some_and(|at| end > at) {
            return;
        }
        if fault.flip.is_some_and(|at| end > at) {
            fault.flip = None;
            part[read - 1] ^= 1;
        }
        if to.write_all(part).await.is_err() {
            return;
        }
        passed = end;
    }
}
