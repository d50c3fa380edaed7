//! One attempt as a process, from its start until nothing of it is left.

use std::future::pending;
use std::io;
use std::mem::take;
use std::os::fd::OwnedFd;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};
use windlass_core::outcome::{self, Outcome, OutcomeKind};
use windlass_core::session::{Deadline, Grant, Stop, StopHow};
use windlass_core::time::Span;

use super::output::Output;
use super::prepare::Prepared;
use super::record::Record;
use crate::clock;
use crate::worker::executor::{Orders, Turn};
use crate::worker::guard::{Exit, Guard, GuardLost, Guarded, NotSpawnedCause, Spawn};
use crate::worker::outputs;

/// How long to wait for the end of an output whose writers are all dead. Only a descriptor that somebody else holds keeps
/// it open.
const DRAIN: Duration = Duration::from_millis(500);

/// Reads that empty the largest pipe: more comes from somebody else who writes to it.
const READS_MAX: usize = 64;

/// How long to wait for the news that the guard has died, which explains a step that was lost.
const GUARD_DIES: Duration = Duration::from_secs(1);

/// An attempt that is about to be started.
pub(super) struct Process {
    pub(super) guard: Guard,
    pub(super) prepared: Prepared,
    pub(super) grant: Grant,
    pub(super) orders: watch::Receiver<Orders>,
    /// Its place in line, if it does not start at once.
    pub(super) turn: Option<Turn>,
    pub(super) record: Record,
}

/// Why a process was told to end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    Nothing,
    Timeout,
    Stop,
    /// What it prints cannot be kept.
    OutputLost,
}

impl Process {
    /// Runs it. When this returns nothing of it is left.
    pub(super) async fn run(mut self) -> Outcome {
        if self.turn.is_some() && self.orders.borrow().is_not_to_begin() {
            return Outcome::plain(OutcomeKind::Released);
        }
        let mut passed_on = Orders { deadline: self.orders.borrow().deadline, ..Orders::default() };
        let started = self.start(passed_on.deadline).await;
        let (guarded, reader) = match started {
            Ok(started) => started,
            Err(error) => {
                self.record.say(&format!("it could not be started: {error}"));
                self.record.finish(&mut self.orders).await;
                return Outcome::plain(OutcomeKind::Failed);
            }
        };
        let turn = self.turn.take();
        let ran = match &turn {
            Some(turn) => self.stand_in_line(turn, &guarded, &mut passed_on).await,
            None => Span::ZERO,
        };
        let ends_at =
            self.grant.timeout.map(|timeout| Instant::now() + duration(timeout.less(ran)));
        let mut output = Output::new(reader);
        let (exit, told) = self.follow(&guarded, (passed_on, ends_at), &mut output).await;
        if let Some((turn, at)) = turn.zip(guarded.gone_at()) {
            turn.went(clock::since_start().since(at)).await;
        }
        self.drain(&mut output).await;
        let outcome = self.outcome(exit, told).await;
        if let Some(text) = self.prepared.files.keep(&self.prepared.masks) {
            self.record.note(text).await;
        }
        self.record.finish(&mut self.orders).await;
        self.record.judge(outcome)
    }

    async fn start(&mut self, deadline: Option<Deadline>) -> io::Result<(Guarded, OwnedFd)> {
        let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        rustix::io::ioctl_fionbio(&reader, true)?;
        let Prepared { argv, env, removed, dir, .. } = &mut self.prepared;
        let env = take(env).into_iter().map(|(name, value)| (name.into(), value.into()));
        let spawn = Spawn {
            fence: self.grant.lease.fence,
            argv: take(argv).into_iter().map(Into::into).collect(),
            env: env.collect(),
            removed: take(removed).into_iter().map(Into::into).collect(),
            dir: Some(take(dir)),
            kill_grace: self.grant.kill_grace,
            deadline,
            line: self.turn.as_ref().map(Turn::line),
            output: writer,
        };
        let guarded = match self.guard.spawn(spawn).await {
            Ok(guarded) => guarded,
            Err(GuardLost) => pending().await,
        };
        Ok((guarded, reader))
    }

    /// Passes orders on until its turn has come, or it is over without. Returns how long ago it came.
    async fn stand_in_line(
        &mut self,
        turn: &Turn,
        guarded: &Guarded,
        passed_on: &mut Orders,
    ) -> Span {
        let begun = guarded.begun();
        tokio::pin!(begun);
        let begun = loop {
            tokio::select! {
                biased;
                begun = &mut begun => break begun,
                order = next_order(&mut self.orders, passed_on) => match order {
                    Order::Stop(stop) => guarded.stop(stop.how, self.grant.kill_grace).await,
                    Order::Withdraw => guarded.withdraw().await,
                    Order::Deadline(at) => guarded.set_deadline(at).await,
                }
            }
        };
        let Some(at) = begun else { return Span::ZERO };
        let ago = clock::since_start().since(at);
        turn.came(ago).await;
        ago
    }

    /// Reads its output and passes orders on until nothing of it is left.
    async fn follow(
        &mut self,
        guarded: &Guarded,
        (mut passed_on, ends_at): (Orders, Option<Instant>),
        output: &mut Output,
    ) -> (Exit, Told) {
        let mut told = if passed_on.stop.is_some() { Told::Stop } else { Told::Nothing };
        let mut open = true;
        let grace = self.grant.kill_grace;
        let gone = guarded.gone();
        tokio::pin!(gone);
        loop {
            // Output comes last: a step that prints without end is still told to stop, and one whose output finds no room
            // is told everything meanwhile.
            tokio::select! {
                biased;
                exit = &mut gone => return (exit, told),
                order = next_order(&mut self.orders, &mut passed_on) => match order {
                    Order::Stop(stop) => {
                        told = Told::Stop;
                        guarded.stop(stop.how, grace).await;
                    }
                    // It runs.
                    Order::Withdraw => {}
                    Order::Deadline(at) => guarded.set_deadline(at).await,
                },
                () = at(ends_at), if told == Told::Nothing => {
                    told = Told::Timeout;
                    guarded.stop(StopHow::Term, grace).await;
                }
                () = self.record.write(), if self.record.is_unwritten() => {
                    if self.record.has_failed() && told == Told::Nothing {
                        told = Told::OutputLost;
                        guarded.stop(StopHow::Term, grace).await;
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
    async fn drain(&mut self, output: &mut Output) {
        self.record.settle(&mut self.orders).await;
        for _ in 0..READS_MAX {
            // Only reading has a limit here: a log may have to wait for room.
            let Ok(bytes @ [_, ..]) = timeout(DRAIN, output.rest()).await else { return };
            self.record.take(bytes);
            self.record.settle(&mut self.orders).await;
        }
    }

    async fn outcome(&mut self, exit: Exit, told: Told) -> Outcome {
        let code = match exit {
            Exit::Code(code) => code,
            // As a shell tells it.
            Exit::Signal(signal) => 128 + signal,
            Exit::NotSpawned(why) => {
                self.record.say(&why.text);
                if why.cause == NotSpawnedCause::Hung && told == Told::Nothing {
                    // Its lease ended before its start returned.
                    return Outcome::plain(OutcomeKind::Lost);
                }
                why.code()
            }
            Exit::Withdrawn => return Outcome::plain(OutcomeKind::Released),
            // Contact was lost, and nobody else may have ended it: whoever leads decides who gets it next.
            Exit::Expired => return Outcome::plain(OutcomeKind::Lost),
            Exit::Lost => return self.lost().await,
        };
        let ended = Outcome::exit(code);
        match told {
            Told::Timeout => Outcome { kind: OutcomeKind::TimedOut, ..ended },
            // Whatever its code: many that are told to end do so with 0, and have not done what they were for.
            Told::Stop => Outcome { kind: OutcomeKind::Cancelled, ..ended },
            // Why is said when all of its output has been tried.
            Told::OutputLost => Outcome::plain(OutcomeKind::Failed),
            Told::Nothing if code != 0 => ended,
            Told::Nothing => self.with_outputs(ended),
        }
    }

    /// Without a guard the worker is at its end too: whoever resumes the run decides what becomes of the attempt.
    async fn lost(&mut self) -> Outcome {
        if timeout(GUARD_DIES, self.guard.over()).await.is_ok() {
            pending::<()>().await;
        }
        Outcome::plain(OutcomeKind::Lost)
    }

    fn with_outputs(&mut self, ended: Outcome) -> Outcome {
        let Prepared { files, outputs, masks, .. } = &self.prepared;
        match outputs::read(&files.output, outputs, masks) {
            Ok(outputs) if outputs.is_empty() => ended,
            Ok(outputs) => {
                let text = serde_json::Value::Object(outputs).to_string();
                Outcome { output: outcome::Output::Inline(text.into()), ..ended }
            }
            Err(error) => {
                self.record.say(&error.to_string());
                Outcome { kind: OutcomeKind::Failed, ..ended }
            }
        }
    }
}

/// Something that a running step is told.
enum Order {
    Stop(Stop),
    Withdraw,
    Deadline(Option<Deadline>),
}

/// The next order that was not passed on, if one ever comes.
async fn next_order(orders: &mut watch::Receiver<Orders>, passed_on: &mut Orders) -> Order {
    loop {
        let wanted = *orders.borrow_and_update();
        if let Some(stop) = wanted.stop.filter(|stop| passed_on.stop != Some(*stop)) {
            passed_on.stop = Some(stop);
            return Order::Stop(stop);
        }
        if wanted.withdrawn && !passed_on.withdrawn {
            passed_on.withdrawn = true;
            return Order::Withdraw;
        }
        if wanted.deadline != passed_on.deadline {
            passed_on.deadline = wanted.deadline;
            return Order::Deadline(wanted.deadline);
        }
        if orders.changed().await.is_err() {
            pending::<()>().await;
        }
    }
}

const fn duration(span: Span) -> Duration {
    Duration::from_millis(span.as_millis())
}

async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => pending().await,
    }
}
