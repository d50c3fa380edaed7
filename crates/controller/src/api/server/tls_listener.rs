//! A listener for connections with TLS.

use std::io;
use std::sync::Arc;

use rustls::ServerConfig;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use windlass_net::http::{ConnectionStream, ProblemDetails};
use windlass_net::tls::ServerCertificate;

use super::listener::{ConnectionListener, ConnectionPeer, IncomingConnection};

/// The first byte of a TLS handshake.
const HANDSHAKE: u8 = 0x16;

/// The most bytes of a plain HTTP request that are read before its connection is closed.
const PLAIN_MAX: u64 = 64 << 10;

/// A port with TLS.
#[derive(Debug)]
pub struct TlsListener {
    listener: TcpListener,
    certificates: ServerCertificate,
}

impl TlsListener {
    /// Creates a listener with this certificate.
    pub const fn new(listener: TcpListener, certificates: ServerCertificate) -> Self {
        Self { listener, certificates }
    }
}

impl ConnectionListener for TlsListener {
    async fn accept(&mut self) -> io::Result<IncomingConnection> {
        let (stream, from) = self.listener.accept().await?;
        stream.set_nodelay(true)?;
        let stream = Box::pin(handshake(stream, self.certificates.current()));
        Ok(IncomingConnection { peer: ConnectionPeer::Remote(from.ip()), stream })
    }
}

async fn handshake(
    stream: TcpStream,
    config: Arc<ServerConfig>,
) -> io::Result<Box<dyn ConnectionStream>> {
    let mut first = [0];
    stream.peek(&mut first).await?;
    if first[0] != HANDSHAKE {
        return Err(refuse(stream).await);
    }
    Ok(Box::new(TlsAcceptor::from(config).accept(stream).await?))
}

/// Answers a plain HTTP request with an error.
async fn refuse(mut stream: TcpStream) -> io::Error {
    let problem = ProblemDetails {
        code: "tls_needed".to_owned(),
        title: "bad request".to_owned(),
        status: 400,
        detail: "this port speaks TLS: the controller's address begins with https://".to_owned(),
        problems: Vec::new(),
        leader: None,
        object: None,
    };
    let body = serde_json::to_string(&problem).expect("it is plain data");
    let answer = format!(
        "HTTP/1.1 400 Bad Request\r\ncontent-type: application/problem+json\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let accepted = async {
        stream.write_all(answer.as_bytes()).await?;
        stream.shutdown().await?;
        // Closing a connection with unread bytes resets it, and the answer would be lost.
        tokio::io::copy(&mut stream.take(PLAIN_MAX), &mut tokio::io::sink()).await
    };
    match accepted.await {
        Ok(_) => io::Error::other("no TLS"),
        Err(error) => error,
    }
}
