//! Commands that a function runs, under the guard.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::timeout;
use windlass_core::session::{Deadline, StopHow};
use windlass_core::time::Span;

use super::call::Call;
use crate::worker::executors::output::Output;
use crate::worker::executors::prepare::traceparent;
use crate::worker::guard::{Exit, Guarded, Spawn, own_key};

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
    /// What it printed, errors included: its first 16 MiB. All of it is in the log.
    pub output: Vec<u8>,
    /// Bytes that it printed beyond them.
    pub left_out: u64,
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

    /// Runs it to its end.
    pub(crate) async fn run(self, keeps: bool) -> io::Result<Captured> {
        let call = Arc::clone(&self.call);
        let _turn = call.running.turns.acquire().await.map_err(io::Error::other)?;
        let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        rustix::io::ioctl_fionbio(&reader, true)?;
        let guard = call.around.guards.get().await?;
        let spawn = self.spawn(writer)?;
        let lost = || io::Error::other("the process that starts commands was killed");
        let guarded = Arc::new(guard.spawn(spawn).await.map_err(|_| lost())?);
        call.running.enter(&guarded);
        let mut left = Left(Some((Arc::clone(&call), Arc::clone(&guarded))));
        if call.halt.is_told() {
            // The order came before there was anything to tell.
            guarded.stop(StopHow::Term, call.grant.kill_grace).await;
        }
        let mut output = Output::new(reader);
        let (mut kept, mut left_out) = (Vec::new(), 0);
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
            if keeps {
                let room = CAPTURED_MAX.saturating_sub(kept.len()).min(bytes.len());
                kept.extend_from_slice(&bytes[..room]);
                left_out += (bytes.len() - room) as u64;
            }
        }
        let exit = guarded.gone().await;
        left.0 = None;
        call.running.leave(&guarded);
        match exit {
            Exit::Code(code) => Ok(Captured { code, output: kept, left_out }),
            Exit::Signal(signal) => Ok(Captured { code: 128 + signal, output: kept, left_out }),
            Exit::NotSpawned(why) => Err(io::Error::other(why.text)),
            Exit::Expired => {
                Err(io::Error::other("it was ended: contact with the leader was lost for too long"))
            }
            Exit::Withdrawn | Exit::Lost => Err(lost()),
        }
    }

    fn spawn(self, output: std::os::fd::OwnedFd) -> io::Result<Spawn> {
        let call = &self.call;
        let handout = call.handout();
        let mut env: Vec<(OsString, OsString)> = Vec::new();
        let span = traceparent(&call.grant, call.around.traces);
        let scope = handout.scope();
        let variables = handout.variables(&scope).map_err(io::Error::other)?;
        // What the step says itself comes later, and counts.
        let named = span.into_iter().chain(variables).chain(call.secrets.iter().cloned());
        let named = named.chain(handout.identity(&call.around.place.worker));
        env.extend(named.map(|(name, value)| (name.into(), value.into())));
        env.extend(self.env);
        let dir = match (self.dir, handout.dir(&scope).map_err(io::Error::other)?) {
            (Some(dir), _) => call.around.place.root.join(dir),
            (None, Some(dir)) => call.around.place.root.join(dir),
            (None, None) => call.around.place.root.clone(),
        };
        let removed =
            call.around.place.withheld(&call.work, call.around.traces).map(OsString::from);
        Ok(Spawn {
            fence: own_key(),
            argv: self.argv,
            env,
            removed: removed.collect(),
            dir: Some(dir),
            kill_grace: call.grant.kill_grace,
            deadline: call.running.deadline(),
            line: None,
            output,
        })
    }
}

/// Kills a command that its function does not wait for any more.
struct Left(Option<(Arc<Call>, Arc<Guarded>)>);

impl Drop for Left {
    fn drop(&mut self) {
        let Some((call, guarded)) = self.0.take() else { return };
        // Without a runtime the process is at its end, and its guard kills what is left.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                guarded.stop(StopHow::Kill, Span::ZERO).await;
                guarded.gone().await;
                call.running.leave(&guarded);
            });
        }
    }
}

/// Commands of one step at a time; more wait.
const AT_ONCE: usize = 64;

/// The commands that a function waits for.
#[derive(Debug)]
pub(super) struct Running {
    turns: Semaphore,
    now: Mutex<Vec<Arc<Guarded>>>,
    /// When all of them are to end, if they must.
    deadline: Mutex<Option<Deadline>>,
}

impl Default for Running {
    fn default() -> Self {
        let (now, deadline) = (Mutex::default(), Mutex::default());
        Self { turns: Semaphore::new(AT_ONCE), now, deadline }
    }
}

impl Running {
    fn enter(&self, guarded: &Arc<Guarded>) {
        self.lock().push(Arc::clone(guarded));
    }

    /// Nothing of it is left.
    fn leave(&self, guarded: &Guarded) {
        self.lock().retain(|known| known.fence() != guarded.fence());
    }

    fn deadline(&self) -> Option<Deadline> {
        *self.deadline.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets when all of them are to end, those that come included: the lease of their step may pass on then.
    pub(super) async fn set_deadline(&self, at: Option<Deadline>) {
        *self.deadline.lock().unwrap_or_else(PoisonError::into_inner) = at;
        for guarded in self.now() {
            guarded.set_deadline(at).await;
        }
    }

    fn now(&self) -> Vec<Arc<Guarded>> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Guarded>>> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn stop(&self, how: StopHow, grace: Span) {
        for guarded in self.now() {
            guarded.stop(how, grace).await;
        }
    }

    /// Kills what a function that was dropped has left.
    pub(super) async fn end(&self) {
        let left = self.now();
        for guarded in &left {
            guarded.stop(StopHow::Kill, Span::ZERO).await;
        }
        for guarded in left {
            guarded.gone().await;
        }
        self.lock().clear();
    }
}
