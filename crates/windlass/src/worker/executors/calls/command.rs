//! Commands that a function runs, under the guard.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::timeout;
use windlass_core::session::StopHow;
use windlass_core::time::Span;

use super::call::Call;
use crate::worker::executors::output::Output;
use crate::worker::executors::prepare::{is_removed, traceparent};
use crate::worker::guard::{Exit, Guarded, Spawn};

/// Bytes of what a command prints that are handed to whoever asked for them. All of it is in the log.
const CAPTURED_MAX: usize = 16 << 20;

/// How long to wait for the end of an output whose writers are all dead. Only a descriptor that somebody else holds keeps it
/// open.
const DRAIN: Duration = Duration::from_millis(500);

/// A program to run in place of a part of a function. What it prints goes to the log of the step; it is told to end when
/// the step is, and nothing of it is left when the step has ended.
#[derive(Clone, Debug)]
pub struct GuardedCommand {
    call: Arc<Call>,
    argv: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    dir: Option<PathBuf>,
}

/// What a command came to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Captured {
    /// Its exit code; 128 and the number of the signal that ended it, as a shell tells it.
    pub code: i32,
    /// What it printed, errors included.
    pub output: Vec<u8>,
}

impl GuardedCommand {
    pub(crate) fn new(call: &Arc<Call>, program: OsString) -> Self {
        Self { call: Arc::clone(call), argv: vec![program], env: Vec::new(), dir: None }
    }

    pub(crate) fn arg(&mut self, argument: OsString) {
        self.argv.push(argument);
    }

    pub(crate) fn env(&mut self, name: OsString, value: OsString) {
        self.env.push((name, value));
    }

    pub(crate) fn dir(&mut self, dir: PathBuf) {
        self.dir = Some(dir);
    }

    /// What it is, for messages.
    pub(crate) fn name(&self) -> String {
        let words = self.argv.iter().map(|word| word.to_string_lossy());
        words.collect::<Vec<_>>().join(" ")
    }

    /// Runs it to its end. Commands of one step run one after the other.
    pub(crate) async fn run(self, keeps: bool) -> io::Result<Captured> {
        let call = Arc::clone(&self.call);
        let _turn = call.running.turn.lock().await;
        // One that nobody waited for any more is told by the same name.
        call.running.end().await;
        let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        rustix::io::ioctl_fionbio(&reader, true)?;
        let guard = call.guards.get().await?;
        let spawn = self.spawn(writer)?;
        let lost = || io::Error::other("the process that starts commands was killed");
        let guarded = Arc::new(guard.spawn(spawn).await.map_err(|_| lost())?);
        call.running.set(Some(Arc::clone(&guarded)));
        let mut left = Left(Some(Arc::clone(&guarded)));
        if call.halt.is_told() {
            // The order came before there was anything to tell.
            guarded.stop(StopHow::Term, call.grant.kill_grace).await;
        }
        let mut output = Output::new(reader);
        let mut kept = Vec::new();
        loop {
            let bytes = tokio::select! {
                biased;
                bytes = output.read() => bytes,
                // A background process of it may hold the pipe: what is there is read, and no more.
                _ = guarded.gone() => timeout(DRAIN, output.rest()).await.unwrap_or_default(),
            };
            if bytes.is_empty() {
                break;
            }
            call.lines.pass(bytes).await;
            let room = CAPTURED_MAX.saturating_sub(kept.len()).min(bytes.len());
            kept.extend_from_slice(&bytes[..if keeps { room } else { 0 }]);
        }
        let exit = guarded.gone().await;
        left.0 = None;
        call.running.set(None);
        match exit {
            Exit::Code(code) => Ok(Captured { code, output: kept }),
            Exit::Signal(signal) => Ok(Captured { code: 128 + signal, output: kept }),
            Exit::NotSpawned(why) => Err(io::Error::other(why.text)),
            Exit::Expired | Exit::Lost => Err(lost()),
        }
    }

    fn spawn(self, output: std::os::fd::OwnedFd) -> io::Result<Spawn> {
        let call = &self.call;
        let handout = call.handout();
        let mut env: Vec<(OsString, OsString)> = Vec::new();
        let span = traceparent(&call.grant, call.traces);
        let scope = handout.scope();
        let variables = handout.variables(&scope).map_err(io::Error::other)?;
        // What the step says itself comes later, and counts.
        let named = span.into_iter().chain(variables).chain(call.secrets.iter().cloned());
        let named = named.chain(handout.identity(&call.place.worker));
        env.extend(named.map(|(name, value)| (name.into(), value.into())));
        env.extend(self.env);
        let dir = match (self.dir, handout.dir(&scope).map_err(io::Error::other)?) {
            (Some(dir), _) => call.place.root.join(dir),
            (None, Some(dir)) => call.place.root.join(dir),
            (None, None) => call.place.root.clone(),
        };
        let known = call.place.environment.iter().map(|(name, _)| name);
        let removed = known.filter(|name| is_removed(name, call.traces)).map(OsString::from);
        Ok(Spawn {
            fence: call.grant.lease.fence,
            argv: self.argv,
            env,
            removed: removed.collect(),
            dir: Some(dir),
            kill_grace: call.grant.kill_grace,
            deadline: None,
            output,
        })
    }
}

/// Kills a command that its function does not wait for any more.
struct Left(Option<Arc<Guarded>>);

impl Drop for Left {
    fn drop(&mut self) {
        let Some(guarded) = self.0.take() else { return };
        // Without a runtime the process is at its end, and its guard kills what is left.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { guarded.stop(StopHow::Kill, Span::ZERO).await });
        }
    }
}

/// The command that a function waits for.
#[derive(Debug, Default)]
pub(super) struct Running {
    /// A guard knows one process of a lease at a time.
    turn: tokio::sync::Mutex<()>,
    now: Mutex<Option<Arc<Guarded>>>,
}

impl Running {
    fn set(&self, guarded: Option<Arc<Guarded>>) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = guarded;
    }

    fn now(&self) -> Option<Arc<Guarded>> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) async fn stop(&self, how: StopHow, grace: Span) {
        if let Some(guarded) = self.now() {
            guarded.stop(how, grace).await;
        }
    }

    /// Kills what a function that was dropped has left.
    pub(super) async fn end(&self) {
        if let Some(guarded) = self.now() {
            guarded.stop(StopHow::Kill, Span::ZERO).await;
            guarded.gone().await;
            self.set(None);
        }
    }
}
