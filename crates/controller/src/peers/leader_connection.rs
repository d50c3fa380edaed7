//! The connection of a standby to the leader.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use windlass_core::engine::EngineAnswer;
use windlass_core::session::ExchangeReply;

use super::frames::{Numbered, PeerAnswer, PeerHello, PeerRequest, read_frame, write_frame};
use crate::handle::NodeRequest;

/// Requests without an answer. A worker has two, a client one.
const REQUESTS_MAX: usize = 1_024;

/// How long a leader may take to accept a connection, or to answer a ping.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

/// A connection to the leader, with the requests that it has not answered.
#[derive(Debug)]
pub(crate) struct LeaderConnection {
    outgoing: mpsc::Sender<Numbered<PeerRequest>>,
    incoming: mpsc::Receiver<Numbered<PeerAnswer>>,
    /// Dropping a caller answers it with `NotLeader`.
    callers: BTreeMap<u64, PeerCaller>,
    last_number: u64,
    /// When the ping without an answer was sent.
    pinged_at: Option<Instant>,
    /// The tasks that read and write. They end with the connection.
    _tasks: JoinSet<()>,
}

/// The sender that waits for an answer.
#[derive(Debug)]
enum PeerCaller {
    Client(oneshot::Sender<EngineAnswer>),
    Worker(oneshot::Sender<ExchangeReply>),
}

/// An answer of the leader, before its caller gets it.
#[derive(Debug)]
pub(crate) struct LeaderAnswer(PeerCaller, PeerAnswer);

impl LeaderConnection {
    /// Connects to the leader's socket.
    #[cfg(unix)]
    pub(crate) async fn open(socket: &Path) -> io::Result<Self> {
        let opened = timeout(ANSWERS_WITHIN, async {
            Self::over(tokio::net::UnixStream::connect(socket).await?).await
        });
        opened.await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
    }

    /// Fails: this platform has no Unix sockets.
    #[cfg(not(unix))]
    pub(crate) async fn open(_socket: &Path) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Takes up a connection: the leader says first which program it is.
    pub(super) async fn over(
        stream: impl AsyncRead + AsyncWrite + Send + 'static,
    ) -> io::Result<Self> {
        let (mut reader, mut writer) = tokio::io::split(stream);
        let hello: PeerHello = read_frame(&mut reader).await?;
        if hello != PeerHello::own() {
            return Err(io::Error::other("the leading process runs another version of windlass"));
        }
        let (outgoing, mut requests) = mpsc::channel::<Numbered<PeerRequest>>(REQUESTS_MAX);
        let (answers, incoming) = mpsc::channel(REQUESTS_MAX);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            while let Some(request) = requests.recv().await {
                if write_frame(&mut writer, &request).await.is_err() {
                    return;
                }
            }
        });
        tasks.spawn(async move {
            while let Ok(answer) = read_frame(&mut reader).await {
                if answers.send(answer).await.is_err() {
                    return;
                }
            }
        });
        Ok(Self {
            outgoing,
            incoming,
            callers: BTreeMap::new(),
            last_number: 0,
            pinged_at: None,
            _tasks: tasks,
        })
    }

    /// Sends a request to the leader. If too many wait, it is answered with `NotLeader`, and the caller repeats it.
    pub(crate) fn pass_on(&mut self, request: NodeRequest) {
        self.callers.retain(|_, caller| !caller.is_gone());
        if self.callers.len() >= REQUESTS_MAX {
            return;
        }
        let (message, caller) = match request {
            NodeRequest::Request(request, answer) => {
                (PeerRequest::Ask(request), PeerCaller::Client(answer))
            }
            NodeRequest::Exchange(exchange, reply) => {
                (PeerRequest::Exchange(exchange), PeerCaller::Worker(reply))
            }
        };
        if let Some(number) = self.send(message) {
            self.callers.insert(number, caller);
        }
    }

    /// Sends a ping, unless one is without an answer.
    pub(crate) fn ping(&mut self) {
        if self.pinged_at.is_none() && self.send(PeerRequest::Ping).is_some() {
            self.pinged_at = Some(Instant::now());
        }
    }

    /// Returns whether the leader has not answered a ping for too long.
    pub(crate) fn is_silent(&self) -> bool {
        self.pinged_at.is_some_and(|at| at.elapsed() > ANSWERS_WITHIN)
    }

    /// Waits for answers; `None` once the connection has ended. The future can be dropped: no answer is lost.
    pub(crate) async fn next_answers(&mut self) -> Option<Vec<LeaderAnswer>> {
        loop {
            let first = self.incoming.recv().await?;
            let more: Vec<_> = std::iter::from_fn(|| self.incoming.try_recv().ok()).collect();
            let answers = [first].into_iter().chain(more);
            let answers: Vec<LeaderAnswer> =
                answers.filter_map(|answer| self.take_answer(answer)).collect();
            if !answers.is_empty() {
                return Some(answers);
            }
        }
    }

    fn take_answer(&mut self, answer: Numbered<PeerAnswer>) -> Option<LeaderAnswer> {
        if matches!(answer.message, PeerAnswer::Pong) {
            self.pinged_at = None;
            return None;
        }
        let caller = self.callers.remove(&answer.number)?;
        Some(LeaderAnswer(caller, answer.message))
    }

    fn send(&mut self, message: PeerRequest) -> Option<u64> {
        let number = self.last_number + 1;
        self.outgoing.try_send(Numbered { number, message }).ok()?;
        self.last_number = number;
        Some(number)
    }
}

impl PeerCaller {
    fn is_gone(&self) -> bool {
        match self {
            Self::Client(answer) => answer.is_closed(),
            Self::Worker(reply) => reply.is_closed(),
        }
    }
}

impl LeaderAnswer {
    /// Gives the answer to its caller. A caller that is gone, or an answer of another kind, is dropped.
    pub(crate) fn release(self) {
        match (self.0, self.1) {
            (PeerCaller::Client(caller), PeerAnswer::Answered(answer)) => drop(caller.send(answer)),
            (PeerCaller::Worker(caller), PeerAnswer::Exchanged(reply)) => drop(caller.send(reply)),
            (PeerCaller::Client(_) | PeerCaller::Worker(_), _) => {}
        }
    }
}
