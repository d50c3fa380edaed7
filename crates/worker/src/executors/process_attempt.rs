//! One attempt as a process, from its start until nothing of it is left.

use std::future::pending;
use std::io;
use std::mem::take;
use std::os::fd::OwnedFd;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};
use windlass_core::outcome::{Outcome, OutcomeKind, StepOutput};
use windlass_core::session::{ContactDeadline, LeaseGrant, StopMode, StopOrder};
use windlass_core::time::Span;
use windlass_net::clock;

use super::attempt_log::AttemptLog;
use super::output_pipe::OutputPipe;
use super::prepared_command::PreparedCommand;
use super::test_reports;
use crate::executor::{AttemptOrders, StartQueueTurn};
use crate::guard::{
    GuardHandle, GuardLost, GuardedStep, SpawnFailureCause, SpawnRequest, StepExit,
};
use crate::step_outputs;

/// How long to wait for the end of an output whose writers are all dead. Only a descriptor held by another process
/// keeps it open.
const DRAIN_WAIT: Duration = Duration::from_millis(500);

/// The number of reads that empty the largest pipe. More output comes from another process.
const READS_MAX: usize = 64;

/// How long to wait for the report that the guard has died, which explains the loss of a step.
const GUARD_LOST_WITHIN: Duration = Duration::from_secs(1);

/// An attempt that is about to be started.
pub(super) struct ProcessAttempt {
    pub(super) guard: GuardHandle,
    pub(super) prepared: PreparedCommand,
    pub(super) grant: LeaseGrant,
    pub(super) orders: watch::Receiver<AttemptOrders>,
    /// The attempt's place in the start queue, if it does not start at once.
    pub(super) turn: Option<StartQueueTurn>,
    pub(super) record: AttemptLog,
}

/// The reason why a process was ordered to stop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ProcessStopReason {
    Nothing,
    Timeout,
    Stop,
    /// Its output cannot be kept.
    OutputLost,
}

impl ProcessAttempt {
    /// Runs the attempt. When this returns, nothing of it is left.
    pub(super) async fn run(mut self) -> Outcome {
        if self.turn.is_some() && self.orders.borrow().is_not_to_begin() {
            return Outcome::plain(OutcomeKind::Released);
        }
        let mut passed_on =
            AttemptOrders { deadline: self.orders.borrow().deadline, ..AttemptOrders::default() };
        let started = self.start(passed_on.deadline).await;
        let (guarded, reader) = match started {
            Ok(started) => started,
            Err(error) => {
                self.record.add_notice(&format!("it could not be started: {error}"));
                self.record.finish(&mut self.orders).await;
                return Outcome::plain(OutcomeKind::Failed);
            }
        };
        let turn = self.turn.take();
        let ran = match &turn {
            Some(turn) => self.await_turn(turn, &guarded, &mut passed_on).await,
            None => Span::ZERO,
        };
        let ends_at = self
            .grant
            .timeout
            .map(|timeout| Instant::now() + duration(timeout.saturating_sub(ran)));
        let mut output = OutputPipe::new(reader);
        let (exit, reason) = self.follow(&guarded, (passed_on, ends_at), &mut output).await;
        if let Some((turn, at)) = turn.zip(guarded.gone_at()) {
            turn.report_gone(clock::time_since_boot().since(at)).await;
        }
        self.drain(&mut output).await;
        let outcome = self.outcome(exit, reason).await;
        test_reports::keep(&self.prepared, outcome.kind, &mut self.record).await;
        let outcome = self.with_artifacts(outcome).await;
        if let Some(text) = self.prepared.files.keep(&self.prepared.masks) {
            self.record.keep_summary(text).await;
        }
        self.record.finish(&mut self.orders).await;
        self.record.apply_output_loss(outcome)
    }

    async fn start(
        &mut self,
        deadline: Option<ContactDeadline>,
    ) -> io::Result<(GuardedStep, OwnedFd)> {
        let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        rustix::io::ioctl_fionbio(&reader, true)?;
        let PreparedCommand { argv, env, removed, dir, .. } = &mut self.prepared;
        let env = take(env).into_iter().map(|(name, value)| (name.into(), value.into()));
        let spawn = SpawnRequest {
            fence: self.grant.lease.fence,
            argv: take(argv).into_iter().map(Into::into).collect(),
            env: env.collect(),
            removed: take(removed).into_iter().map(Into::into).collect(),
            dir: Some(take(dir)),
            kill_grace: self.grant.kill_grace,
            deadline,
            queue_limits: self.turn.as_ref().map(StartQueueTurn::limits),
            output: writer,
        };
        let guarded = match self.guard.spawn(spawn).await {
            Ok(guarded) => guarded,
            Err(GuardLost) => pending().await,
        };
        Ok((guarded, reader))
    }

    /// Passes orders on until its turn has come, or the attempt is over without a turn. Returns how long ago the turn
    /// came.
    async fn await_turn(
        &mut self,
        turn: &StartQueueTurn,
        guarded: &GuardedStep,
        passed_on: &mut AttemptOrders,
    ) -> Span {
        let begun = guarded.begun();
        tokio::pin!(begun);
        let begun = loop {
            tokio::select! {
                biased;
                begun = &mut begun => break begun,
                order = next_order(&mut self.orders, passed_on) => match order {
                    ProcessOrder::Stop(stop) => guarded.stop(stop.how, self.grant.kill_grace).await,
                    ProcessOrder::Withdraw => guarded.withdraw().await,
                    ProcessOrder::Deadline(at) => guarded.set_deadline(at).await,
                }
            }
        };
        let Some(at) = begun else { return Span::ZERO };
        let ago = clock::time_since_boot().since(at);
        turn.report_started(ago).await;
        ago
    }

    /// Reads its output and passes orders on until nothing of it is left.
    async fn follow(
        &mut self,
        guarded: &GuardedStep,
        (mut passed_on, ends_at): (AttemptOrders, Option<Instant>),
        output: &mut OutputPipe,
    ) -> (StepExit, ProcessStopReason) {
        let mut reason = if passed_on.stop.is_some() {
            ProcessStopReason::Stop
        } else {
            ProcessStopReason::Nothing
        };
        let mut open = true;
        let grace = self.grant.kill_grace;
        let gone = guarded.gone();
        tokio::pin!(gone);
        loop {
            // Output comes last: a step that prints without end still receives orders, and so does one whose output
            // finds no room.
            tokio::select! {
                biased;
                exit = &mut gone => return (exit, reason),
                order = next_order(&mut self.orders, &mut passed_on) => match order {
                    ProcessOrder::Stop(stop) => {
                        reason = ProcessStopReason::Stop;
                        guarded.stop(stop.how, grace).await;
                    }
                    // It runs already.
                    ProcessOrder::Withdraw => {}
                    ProcessOrder::Deadline(at) => guarded.set_deadline(at).await,
                },
                () = sleep_until_or_never(ends_at), if reason == ProcessStopReason::Nothing => {
                    reason = ProcessStopReason::Timeout;
                    guarded.stop(StopMode::Term, grace).await;
                }
                () = self.record.write(), if self.record.is_unwritten() => {
                    if self.record.has_failed() && reason == ProcessStopReason::Nothing {
                        reason = ProcessStopReason::OutputLost;
                        guarded.stop(StopMode::Term, grace).await;
                    }
                }
                bytes = output.read(), if open && !self.record.is_unwritten() => match bytes {
                    [] => open = false,
                    bytes => self.record.take(bytes),
                },
            }
        }
    }

    /// Reads what is left in the pipe.
    async fn drain(&mut self, output: &mut OutputPipe) {
        self.record.write_remaining(&mut self.orders).await;
        for _ in 0..READS_MAX {
            // Only reading has a limit here: a log may have to wait for room.
            let Ok(bytes @ [_, ..]) = timeout(DRAIN_WAIT, output.read_remaining()).await else {
                return;
            };
            self.record.take(bytes);
            self.record.write_remaining(&mut self.orders).await;
        }
    }

    async fn outcome(&mut self, exit: StepExit, reason: ProcessStopReason) -> Outcome {
        let code = match exit {
            StepExit::Code(code) => code,
            // The exit code that a shell would return.
            StepExit::Signal(signal) => 128 + signal,
            StepExit::NotSpawned(why) => {
                self.record.add_notice(&why.text);
                if why.cause == SpawnFailureCause::Hung && reason == ProcessStopReason::Nothing {
                    // The lease ended before the start returned.
                    return Outcome::plain(OutcomeKind::Lost);
                }
                why.code()
            }
            StepExit::Withdrawn => return Outcome::plain(OutcomeKind::Released),
            // Contact was lost, and only the deadline ended the step: the leader decides where it runs next.
            StepExit::Expired => return Outcome::plain(OutcomeKind::Lost),
            StepExit::Lost => return self.lost_outcome().await,
        };
        let ended = Outcome::exit(code);
        match reason {
            ProcessStopReason::Timeout => Outcome { kind: OutcomeKind::TimedOut, ..ended },
            // The exit code does not matter: many programs end with 0 after a signal without having done their work.
            ProcessStopReason::Stop => Outcome { kind: OutcomeKind::Cancelled, ..ended },
            // The reason follows when all of its output has been tried.
            ProcessStopReason::OutputLost => Outcome::plain(OutcomeKind::Failed),
            ProcessStopReason::Nothing if code != 0 => ended,
            ProcessStopReason::Nothing => self.with_outputs(ended),
        }
    }

    /// Returns the outcome without a guard. The worker is about to end too: the process that resumes the run decides
    /// what follows.
    async fn lost_outcome(&mut self) -> Outcome {
        if timeout(GUARD_LOST_WITHIN, self.guard.over()).await.is_ok() {
            pending::<()>().await;
        }
        Outcome::plain(OutcomeKind::Lost)
    }

    /// Stores the artifacts of an attempt that ended by itself or by its timeout.
    async fn with_artifacts(&mut self, outcome: Outcome) -> Outcome {
        let Some(artifacts) = self.prepared.artifacts.take() else { return outcome };
        let succeeded = match outcome.kind {
            OutcomeKind::Succeeded => true,
            OutcomeKind::Failed | OutcomeKind::TimedOut => false,
            OutcomeKind::Cancelled | OutcomeKind::Lost | OutcomeKind::Released => return outcome,
        };
        let kept = tokio::select! {
            kept = artifacts.keep(succeeded) => kept,
            _ = self.orders.wait_for(|orders| orders.stop.is_some()) => {
                return Outcome { kind: OutcomeKind::Cancelled, ..outcome };
            }
        };
        match kept {
            Ok(None) => outcome,
            Ok(Some(kept)) => {
                let output = StepOutput { artifacts: Some(kept.manifest), ..outcome.output };
                Outcome { output, ..outcome }
            }
            Err(why) => {
                self.record.add_notice(&why);
                let kind = if succeeded { OutcomeKind::Failed } else { outcome.kind };
                Outcome { kind, ..outcome }
            }
        }
    }

    fn with_outputs(&mut self, ended: Outcome) -> Outcome {
        let PreparedCommand { files, outputs, masks, .. } = &self.prepared;
        match step_outputs::read(&files.output, outputs, masks) {
            Ok(outputs) if outputs.is_empty() => ended,
            Ok(outputs) => {
                let text = serde_json::Value::Object(outputs).to_string();
                Outcome { output: StepOutput::inline(text), ..ended }
            }
            Err(error) => {
                self.record.add_notice(&error.to_string());
                Outcome { kind: OutcomeKind::Failed, ..ended }
            }
        }
    }
}

/// An order to a running step.
enum ProcessOrder {
    Stop(StopOrder),
    Withdraw,
    Deadline(Option<ContactDeadline>),
}

/// Waits for the next order that was not passed on.
async fn next_order(
    orders: &mut watch::Receiver<AttemptOrders>,
    passed_on: &mut AttemptOrders,
) -> ProcessOrder {
    loop {
        let wanted = *orders.borrow_and_update();
        if let Some(stop) = wanted.stop.filter(|stop| passed_on.stop != Some(*stop)) {
            passed_on.stop = Some(stop);
            return ProcessOrder::Stop(stop);
        }
        if wanted.withdrawn && !passed_on.withdrawn {
            passed_on.withdrawn = true;
            return ProcessOrder::Withdraw;
        }
        if wanted.deadline != passed_on.deadline {
            passed_on.deadline = wanted.deadline;
            return ProcessOrder::Deadline(wanted.deadline);
        }
        if orders.changed().await.is_err() {
            pending::<()>().await;
        }
    }
}

const fn duration(span: Span) -> Duration {
    Duration::from_millis(span.as_millis())
}

async fn sleep_until_or_never(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => pending().await,
    }
}
