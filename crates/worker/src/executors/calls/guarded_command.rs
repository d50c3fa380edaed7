//! Commands that a function runs, supervised by the guard.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::timeout;
use windlass_core::session::{ContactDeadline, StopMode};
use windlass_core::time::Span;

use super::step_call::StepCall;
use crate::executors::output_pipe::OutputPipe;
use crate::executors::prepared_command::traceparent;
use crate::guard::{GuardedStep, SpawnRequest, StepExit, internal_fence};

/// The number of bytes of a command's output that the caller receives. All of it is in the log.
const CAPTURED_MAX: usize = 16 << 20;

/// How long to wait for the end of an output whose writers are all dead. Only a descriptor held by another process
/// keeps it open.
const DRAIN: Duration = Duration::from_millis(500);

/// A program that a function runs. Its output goes to the log of the step. It is ordered to stop when the step is, and
/// nothing of it is left when the step has ended.
#[derive(Clone, Debug)]
pub struct GuardedCommand {
    call: Arc<StepCall>,
    argv: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    dir: Option<PathBuf>,
}

/// The result of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandOutput {
    /// Its exit code. If a signal ended it, 128 plus the number of the signal, as in a shell.
    pub code: i32,
    /// The first 16 MiB of its output, errors included. All of it is in the log.
    pub output: Vec<u8>,
    /// The number of bytes that it printed beyond them.
    pub left_out: u64,
}

impl GuardedCommand {
    /// Creates a command with this program. The guard starts it for this call.
    pub fn new(call: &Arc<StepCall>, program: OsString) -> Self {
        Self { call: Arc::clone(call), argv: vec![program], env: Vec::new(), dir: None }
    }

    /// Adds an argument.
    pub fn arg(&mut self, argument: OsString) {
        self.argv.push(argument);
    }

    /// Sets an environment variable.
    pub fn env(&mut self, name: OsString, value: OsString) {
        self.env.push((name, value));
    }

    /// Sets the working directory.
    pub fn dir(&mut self, dir: PathBuf) {
        self.dir = Some(dir);
    }

    /// Returns the name of the command, for messages.
    pub fn name(&self) -> String {
        let words = self.argv.iter().map(|word| word.to_string_lossy());
        words.collect::<Vec<_>>().join(" ")
    }

    /// Runs the command to its end.
    pub async fn run(self, keeps: bool) -> io::Result<CommandOutput> {
        let call = Arc::clone(&self.call);
        let _turn = call.running.turns.acquire().await.map_err(io::Error::other)?;
        let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        rustix::io::ioctl_fionbio(&reader, true)?;
        let guard = call.services.guard_source.get().await?;
        let spawn = self.spawn(writer)?;
        let lost = || io::Error::other("the process that starts commands was killed");
        let guarded = Arc::new(guard.spawn(spawn).await.map_err(|_| lost())?);
        call.running.enter(&guarded);
        let mut left = KillCommandOnDrop(Some((Arc::clone(&call), Arc::clone(&guarded))));
        if call.stop_signal.is_sent() {
            // The order came before the command was there to receive it.
            guarded.stop(StopMode::Term, call.grant.kill_grace).await;
        }
        let mut output = OutputPipe::new(reader);
        let (mut kept, mut left_out) = (Vec::new(), 0);
        loop {
            let bytes = tokio::select! {
                biased;
                bytes = output.read() => bytes,
                // A background process of it may hold the pipe: only what is there is read.
                _ = guarded.gone() => timeout(DRAIN, output.read_remaining()).await.unwrap_or_default(),
            };
            if bytes.is_empty() {
                break;
            }
            call.output.push_when_room(bytes).await;
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
            StepExit::Code(code) => Ok(CommandOutput { code, output: kept, left_out }),
            StepExit::Signal(signal) => {
                Ok(CommandOutput { code: 128 + signal, output: kept, left_out })
            }
            StepExit::NotSpawned(why) => Err(io::Error::other(why.text)),
            StepExit::Expired => {
                Err(io::Error::other("it was ended: contact with the leader was lost for too long"))
            }
            StepExit::Withdrawn | StepExit::Lost => Err(lost()),
        }
    }

    fn spawn(self, output: std::os::fd::OwnedFd) -> io::Result<SpawnRequest> {
        let call = &self.call;
        let granted_work = call.granted_work();
        let mut env: Vec<(OsString, OsString)> = Vec::new();
        let span = traceparent(&call.grant, call.services.traces);
        let scope = granted_work.scope();
        let variables = granted_work.variables(&scope).map_err(io::Error::other)?;
        // Variables that the step itself sets come later, and win.
        let named = span.into_iter().chain(variables).chain(call.secrets.iter().cloned());
        let named = named.chain(granted_work.identity_variables(&call.services.settings.worker));
        env.extend(named.map(|(name, value)| (name.into(), value.into())));
        env.extend(self.env);
        let dir = match (self.dir, granted_work.dir(&scope).map_err(io::Error::other)?) {
            (Some(dir), _) => call.services.settings.root.join(dir),
            (None, Some(dir)) => call.services.settings.root.join(dir),
            (None, None) => call.services.settings.root.clone(),
        };
        let removed = call
            .services
            .settings
            .withheld_variables(&call.work, call.services.traces)
            .map(OsString::from);
        Ok(SpawnRequest {
            fence: internal_fence(),
            argv: self.argv,
            env,
            removed: removed.collect(),
            dir: Some(dir),
            kill_grace: call.grant.kill_grace,
            deadline: call.running.deadline(),
            queue_limits: None,
            output,
        })
    }
}

/// Kills a command when its function no longer waits for it.
struct KillCommandOnDrop(Option<(Arc<StepCall>, Arc<GuardedStep>)>);

impl Drop for KillCommandOnDrop {
    fn drop(&mut self) {
        let Some((call, guarded)) = self.0.take() else { return };
        // Without a runtime the process is about to end, and its guard kills what is left.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                guarded.stop(StopMode::Kill, Span::ZERO).await;
                guarded.gone().await;
                call.running.leave(&guarded);
            });
        }
    }
}

/// The maximum number of commands of one step at a time. More wait.
const COMMANDS_MAX: usize = 64;

/// The commands that a function waits for.
#[derive(Debug)]
pub(super) struct RunningCommands {
    turns: Semaphore,
    now: Mutex<Vec<Arc<GuardedStep>>>,
    /// When all of them must end, if they must.
    deadline: Mutex<Option<ContactDeadline>>,
}

impl Default for RunningCommands {
    fn default() -> Self {
        let (now, deadline) = (Mutex::default(), Mutex::default());
        Self { turns: Semaphore::new(COMMANDS_MAX), now, deadline }
    }
}

impl RunningCommands {
    fn enter(&self, guarded: &Arc<GuardedStep>) {
        self.lock().push(Arc::clone(guarded));
    }

    /// Removes a command of which nothing is left.
    fn leave(&self, guarded: &GuardedStep) {
        self.lock().retain(|known| known.fence() != guarded.fence());
    }

    fn deadline(&self) -> Option<ContactDeadline> {
        *self.deadline.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets when all of them must end, those that follow included: the lease of their step may pass on then.
    pub(super) async fn set_deadline(&self, at: Option<ContactDeadline>) {
        *self.deadline.lock().unwrap_or_else(PoisonError::into_inner) = at;
        for guarded in self.now() {
            guarded.set_deadline(at).await;
        }
    }

    fn now(&self) -> Vec<Arc<GuardedStep>> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<GuardedStep>>> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn stop(&self, how: StopMode, grace: Span) {
        for guarded in self.now() {
            guarded.stop(how, grace).await;
        }
    }

    /// Kills what a dropped function has left.
    pub(super) async fn end(&self) {
        let left = self.now();
        for guarded in &left {
            guarded.stop(StopMode::Kill, Span::ZERO).await;
        }
        for guarded in left {
            guarded.gone().await;
        }
        self.lock().clear();
    }
}
