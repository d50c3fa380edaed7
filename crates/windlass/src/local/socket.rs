//! The other terminal's way to a local run: a socket beside its store.
//!
//! One question a line, one answer a line, both JSON. Whatever can be read is read from the stores; only what the leader
//! must decide is asked here.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use windlass_core::engine::{Answer, CancelLevel, Request};
use windlass_core::id::RunId;

use crate::controller::Handle;
use crate::shutdown::Shutdown;

const NAME: &str = "leader.sock";

/// Linux allows 107 bytes, macOS 103.
const ADDRESS_MAX: usize = 103;

/// Terminals that ask at the same time; more wait.
const CLIENTS_MAX: usize = 16;

/// A question is short.
const LINE_MAX: u64 = 4_096;

/// How long either side waits for the other.
const PATIENCE: Duration = Duration::from_secs(5);

/// What may be asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Question {
    /// End a run.
    Cancel { run: u64, level: CancelLevel },
}

/// What came of it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Told {
    Done,
    Refused { why: String },
}

/// Why a question has no good answer.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// No run is under way in that store.
    #[error("nothing runs here now")]
    NobodyLeads,
    /// Its leader refused.
    #[error("{0}")]
    Refused(String),
    /// It did not answer as it should.
    #[error("the run's process does not answer: {0}")]
    NoAnswer(io::Error),
}

/// Asks the leader of the stores in a folder to end a run.
pub async fn cancel(folder: &Path, run: RunId, level: CancelLevel) -> Result<(), SocketError> {
    let connected = UnixStream::connect(address(folder)).await;
    let mut stream = connected.map_err(|_| SocketError::NobodyLeads)?;
    let asked = timeout(PATIENCE, ask(&mut stream, &Question::Cancel { run: run.0, level })).await;
    let late = |_| SocketError::NoAnswer(io::ErrorKind::TimedOut.into());
    match asked.map_err(late)?.map_err(SocketError::NoAnswer)? {
        Told::Done => Ok(()),
        Told::Refused { why } => Err(SocketError::Refused(why)),
    }
}

/// Whether somebody leads the stores in a folder, and works for them.
pub fn is_led(folder: &Path) -> bool {
    std::os::unix::net::UnixStream::connect(address(folder)).is_ok()
}

/// Where the leader of the stores in a folder listens: there, or elsewhere if a socket cannot have so long a name.
fn address(folder: &Path) -> PathBuf {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let beside = folder.join(NAME);
    if beside.as_os_str().len() <= ADDRESS_MAX {
        return beside;
    }
    let hash = blake3::hash(folder.as_os_str().as_encoded_bytes()).to_hex();
    std::env::temp_dir().join(format!("windlass-{}.sock", &hash[..32]))
}

async fn ask(stream: &mut UnixStream, question: &Question) -> io::Result<Told> {
    let mut line = serde_json::to_string(question)?;
    line.push('\n');
    stream.write_all(line.as_bytes()).await?;
    Ok(serde_json::from_str(&read_line(stream).await?)?)
}

async fn read_line(stream: &mut UnixStream) -> io::Result<String> {
    let mut line = String::new();
    BufReader::new(stream.take(LINE_MAX)).read_line(&mut line).await?;
    Ok(line)
}

/// Answers other terminals while a run is led.
#[derive(Debug)]
pub struct Socket {
    listener: UnixListener,
    file: PathBuf,
    handle: Handle,
}

impl Socket {
    /// Listens in a folder whose stores this process leads: a socket that is there already is a dead one's.
    pub fn bind(folder: &Path, handle: Handle) -> io::Result<Self> {
        let file = address(folder);
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&file)?;
        // Who may write to the socket may end the run: only its owner.
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600))?;
        Ok(Self { listener, file, handle })
    }

    /// Answers until it is told to end.
    pub async fn run(self, mut shutdown: Shutdown) {
        let seats = Arc::new(Semaphore::new(CLIENTS_MAX));
        loop {
            let seat = Arc::clone(&seats).acquire_owned();
            tokio::select! {
                () = shutdown.wait() => break,
                (stream, seat) = async { (self.listener.accept().await, seat.await) } => {
                    let Ok((stream, _)) = stream else { continue };
                    let handle = self.handle.clone();
                    tokio::spawn(async move {
                        drop(timeout(PATIENCE, serve(stream, handle)).await);
                        drop(seat);
                    });
                }
            }
        }
        drop(std::fs::remove_file(&self.file));
    }
}

async fn serve(mut stream: UnixStream, handle: Handle) -> io::Result<()> {
    let line = read_line(&mut stream).await?;
    let told = match serde_json::from_str(&line) {
        Ok(question) => answer(question, &handle).await,
        Err(error) => {
            Told::Refused { why: format!("this windlass does not understand that: {error}") }
        }
    };
    let mut line = serde_json::to_string(&told)?;
    line.push('\n');
    stream.write_all(line.as_bytes()).await
}

async fn answer(question: Question, handle: &Handle) -> Told {
    let Question::Cancel { run, level } = question;
    match handle.ask(Request::Cancel { run: RunId(run), level }).await {
        Ok(Answer::Denied(denial)) => Told::Refused { why: denial.to_string() },
        Ok(_) => Told::Done,
        Err(error) => Told::Refused { why: error.to_string() },
    }
}
