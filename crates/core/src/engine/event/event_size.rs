//! The number of bytes that an event takes in a journal.

use super::{Event, StepSettlement};
use crate::access::{AuditSubject, Principal};
use crate::engine::event;
use crate::outcome::StepOutput;

/// Bytes of an event without its texts and lists: its time, its kind and at most ten numbers of up to ten bytes.
const EVENT_FRAME: usize = 128;

/// Bytes of a reused outcome without its output: a step, a run and a kind.
const REUSED_FRAME: usize = 24;

/// Bytes of the progress of a step without its output: nine numbers and kinds.
const PROGRESS_FRAME: usize = 56;

/// Bytes of a label without its text: its length.
const LABEL_FRAME: usize = 10;

impl Event {
    /// Returns an upper bound on the bytes that the event takes in a journal. The bound needs no encoding, so a batch
    /// can be limited before it is written.
    pub fn bytes(&self) -> usize {
        EVENT_FRAME + self.text_bytes()
    }

    fn text_bytes(&self) -> usize {
        match self {
            Self::RunSubmitted(event::RunSubmitted { plan, reused, .. }) => {
                let reused = reused.iter().map(|it| REUSED_FRAME + output_bytes(&it.output));
                plan.encoded_max() + reused.sum::<usize>()
            }
            Self::RunResumed(event::RunResumed { plan, progress, .. }) => {
                let steps = progress.steps.iter();
                let steps = steps.map(|step| PROGRESS_FRAME + output_bytes(&step.output));
                plan.encoded_max() + steps.sum::<usize>()
            }
            Self::WorkerRegistered(event::WorkerRegistered { name, labels, .. }) => {
                let labels = labels.iter().map(|label| LABEL_FRAME + label.len());
                name.len() + labels.sum::<usize>()
            }
            Self::LeaseEnded(event::LeaseEnded { outcome, .. })
            | Self::LateOutcome(event::LateOutcome { outcome, .. }) => {
                output_bytes(&outcome.output)
            }
            Self::StepSettled(event::StepSettled { settled, .. }) => settled_bytes(settled),
            Self::LockForced(event::LockForced { lock, .. }) => lock.len(),
            Self::WorkerEnrolled(event::WorkerEnrolled { by, .. }) => principal_bytes(by),
            Self::TokenCreated(event::TokenCreated { token, .. }) => token.name.len(),
            Self::Acted(event::Acted { by, about, .. }) => principal_bytes(by) + about_bytes(about),
            Self::KeyTaken(event::KeyTaken { key, .. })
            | Self::KeyAwaited(event::KeyAwaited { key, .. }) => key.len(),
            Self::KeyRecalled(event::KeyRecalled { key, origin, output, .. }) => {
                key.len() + origin.name.len() + output_bytes(output)
            }
            Self::Led(_)
            | Self::WorkerLost(_)
            | Self::WorkerReturned(_)
            | Self::WorkerDrained(_)
            | Self::WorkerEnded(_)
            | Self::WorkerForgotten(_)
            | Self::WorkerRevoked(_)
            | Self::Braked(_)
            | Self::RunCancelled(_)
            | Self::RunEnded(_)
            | Self::RunSealed(_)
            | Self::RunInterrupted(_)
            | Self::Granted(_)
            | Self::Confirmed(_)
            | Self::Started(_)
            | Self::StopOrdered(_)
            | Self::BackoffEnded(_)
            | Self::ConditionHeld(_)
            | Self::TokenRevoked(_) => 0,
        }
    }
}

/// Returns the bytes of an output with its length.
fn output_bytes(output: &StepOutput) -> usize {
    const LENGTHS: usize = 16;
    LENGTHS + output.len()
}

fn settled_bytes(settled: &StepSettlement) -> usize {
    match settled {
        StepSettlement::SkippedByValues { why }
        | StepSettlement::FailedCondition { why }
        | StepSettlement::FailedKey { why } => why.len(),
        StepSettlement::FailedAncestorLock { lock: awaited, holder }
        | StepSettlement::FailedAncestorKey { key: awaited, holder } => {
            awaited.len() + holder.name.len()
        }
        StepSettlement::SkippedByCondition
        | StepSettlement::SkippedUnplaceable
        | StepSettlement::Blocked { .. }
        | StepSettlement::Withheld { .. }
        | StepSettlement::CancelledWithRun
        | StepSettlement::CancelledByFailure { .. }
        | StepSettlement::Superseded { .. }
        | StepSettlement::FailedNoWorker
        | StepSettlement::FailedNoLock
        | StepSettlement::FailedTooLarge { .. }
        | StepSettlement::FailedNoKey { .. } => 0,
    }
}

fn principal_bytes(principal: &Principal) -> usize {
    match principal {
        Principal::Token { name, .. } => name.len(),
        Principal::Local | Principal::TokenFile | Principal::Worker { .. } => 0,
    }
}

fn about_bytes(about: &AuditSubject) -> usize {
    match about {
        AuditSubject::Run(_) => 0,
        AuditSubject::Worker { name, .. }
        | AuditSubject::Token { name, .. }
        | AuditSubject::Lock { name, .. } => name.len(),
    }
}
