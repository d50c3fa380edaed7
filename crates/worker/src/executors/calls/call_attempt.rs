//! One attempt of a function, from its start until nothing of it is left.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use windlass_core::outcome::{Outcome, OutcomeKind};
use windlass_core::session::{StopMode, StopOrder};
use windlass_core::step_failure::{StepFailure, StepFailureKind};

use super::call_executor::deadline;
use super::call_task::{CallTask, catch_panics};
use super::callee_registry::{CallResult, CallRetry, Callee};
use super::step_call::StepCall;
use crate::executor::AttemptOrders;
use crate::executors::attempt_log::AttemptLog;
use crate::guard::InProcessStep;

/// The exit code of a failure that the step wants to retry: "temporary failure" among the usual codes of `sysexits.h`.
pub(super) const TRY_AGAIN: i32 = 75;

/// An attempt that is about to be started.
pub(super) struct CallAttempt {
    pub(super) callee: Arc<dyn Callee>,
    pub(super) call: Arc<StepCall>,
    pub(super) orders: watch::Receiver<AttemptOrders>,
    pub(super) runtime: Option<Handle>,
}

/// The reason why a function was ordered to stop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CallStopReason {
    Nothing,
    Timeout,
    Stop,
    /// Its output cannot be kept.
    OutputLost,
}

impl CallAttempt {
    /// Runs the attempt. When this returns, nothing of it is left.
    pub(super) async fn run(mut self) -> Outcome {
        let call = Arc::clone(&self.call);
        let mut record =
            AttemptLog::new(Arc::clone(&call.services.logs), &call.grant, call.masks.clone());
        let unsaid =
            call.services.settings.masks.unmasked_warning(call.grant.lease.run, &call.unmasked);
        record.warn(unsaid);
        let mut lines = CallLog { call: Arc::clone(&call), record };
        let begins_with = *self.orders.borrow();
        let held = call.services.guard_source.hold(&call.grant, &begins_with).await;
        if held.is_some() {
            call.running.set_deadline(deadline(&call.grant, &begins_with)).await;
        }
        let mut polled = self.begin();
        let (returned, reason) = self.follow(&mut polled, &mut lines, held.as_ref()).await;
        // The function is dropped, or awaited if it does not yield.
        polled.end().await;
        call.running.end().await;
        call.threads.empty().await;
        if let Some(held) = held {
            held.release().await;
        }
        lines.take();
        let outcome = outcome(&call, returned, reason, &mut lines.record);
        lines.record.finish(&mut self.orders).await;
        lines.record.apply_output_loss(outcome)
    }

    fn begin(&mut self) -> CallTask {
        let function = catch_panics(|| self.callee.call(Arc::clone(&self.call)));
        match &self.runtime {
            Some(runtime) => CallTask::Spawned(runtime.spawn(function)),
            None => CallTask::Inline(function),
        }
    }

    /// Passes on output and orders until the function has returned or its grace is over.
    async fn follow(
        &mut self,
        polled: &mut CallTask,
        lines: &mut CallLog,
        held: Option<&InProcessStep>,
    ) -> (Option<CallResult>, CallStopReason) {
        let call = Arc::clone(&self.call);
        let grace = Duration::from_millis(call.grant.kill_grace.as_millis());
        let limit = call.grant.timeout.map(|limit| Duration::from_millis(limit.as_millis()));
        let ends_at = limit.map(|limit| Instant::now() + limit);
        let (mut reason, mut dropped_at) = (CallStopReason::Nothing, None);
        let mut passed_on =
            AttemptOrders { deadline: self.orders.borrow().deadline, ..AttemptOrders::default() };
        loop {
            tokio::select! {
                biased;
                returned = polled.returned() => return (Some(returned), reason),
                stop = next_order(&mut self.orders, &mut passed_on) => match stop {
                    Some(stop) => {
                        reason = CallStopReason::Stop;
                        if stop.how == StopMode::Kill {
                            return (None, reason);
                        }
                        dropped_at.get_or_insert(Instant::now() + grace);
                        call.signal_stop().await;
                    }
                    None => call.move_deadline(held, &passed_on).await,
                },
                () = sleep_until_or_never(ends_at), if reason == CallStopReason::Nothing => {
                    reason = CallStopReason::Timeout;
                    dropped_at = Some(Instant::now() + grace);
                    call.signal_stop().await;
                }
                () = sleep_until_or_never(dropped_at) => return (None, reason),
                // Nothing else waits for it: a lease is renewed while the output finds no room.
                () = lines.record.write(), if lines.record.is_unwritten() => {
                    if lines.record.has_failed() && reason == CallStopReason::Nothing {
                        reason = CallStopReason::OutputLost;
                        dropped_at = Some(Instant::now() + grace);
                        call.signal_stop().await;
                    }
                }
                () = call.output.wait_for_output(), if !lines.record.is_unwritten() => lines.take(),
            }
        }
    }
}

impl StepCall {
    /// Reports the current deadline of the function to the guard.
    async fn move_deadline(&self, held: Option<&InProcessStep>, orders: &AttemptOrders) {
        if let Some(held) = held {
            let at = deadline(&self.grant, orders);
            held.set_deadline(at).await;
            self.running.set_deadline(at).await;
        }
    }

    /// Signals the function, and the commands that it waits for.
    async fn signal_stop(&self) {
        self.stop_signal.send();
        self.running.stop(StopMode::Term, self.grant.kill_grace).await;
    }
}

/// The log of the attempt, and the output on its way there.
struct CallLog {
    call: Arc<StepCall>,
    record: AttemptLog,
}

impl CallLog {
    fn take(&mut self) {
        let said = self.call.output.take();
        if !said.is_empty() {
            self.record.take(&said);
        }
    }
}

/// Returns the result of a function as an outcome.
fn outcome(
    call: &StepCall,
    returned: Option<CallResult>,
    reason: CallStopReason,
    record: &mut AttemptLog,
) -> Outcome {
    let ended = match returned {
        // A step that finished in spite of the order has finished.
        Some(Ok(output)) => return Outcome { output, ..Outcome::plain(OutcomeKind::Succeeded) },
        Some(Err(ended)) => Some(ended),
        None => None,
    };
    let kind = match reason {
        CallStopReason::Nothing | CallStopReason::OutputLost => OutcomeKind::Failed,
        CallStopReason::Timeout => OutcomeKind::TimedOut,
        CallStopReason::Stop => OutcomeKind::Cancelled,
    };
    let Some((failure, retry)) = ended else { return Outcome::plain(kind) };
    let failure = failure.masked(|text| call.mask(text));
    record.add_notice(&failure_text(&failure));
    let again = retry == CallRetry::Yes && kind == OutcomeKind::Failed;
    Outcome { kind, exit_code: again.then_some(TRY_AGAIN), output: failure.to_output() }
}

fn failure_text(failure: &StepFailure) -> String {
    let place = failure.backtrace.as_deref().filter(|_| failure.kind == StepFailureKind::Panic);
    let place = place.and_then(|frames| frames.lines().next());
    match place {
        Some(place) => format!("{failure}\n  at {place}"),
        None => failure.to_string(),
    }
}

/// Waits for the next order that was not passed on: to stop, or just another deadline.
async fn next_order(
    orders: &mut watch::Receiver<AttemptOrders>,
    passed_on: &mut AttemptOrders,
) -> Option<StopOrder> {
    loop {
        let wanted = *orders.borrow_and_update();
        if let Some(stop) = wanted.stop.filter(|stop| passed_on.stop != Some(*stop)) {
            passed_on.stop = Some(stop);
            return Some(stop);
        }
        if wanted.deadline != passed_on.deadline {
            passed_on.deadline = wanted.deadline;
            return None;
        }
        if orders.changed().await.is_err() {
            pending::<()>().await;
        }
    }
}

async fn sleep_until_or_never(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => pending().await,
    }
}
