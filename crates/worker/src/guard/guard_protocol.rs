//! The messages between worker and guard.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStringExt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use windlass_core::id::Fence;
use windlass_core::session::{ContactDeadline, StopMode};
use windlass_core::start_queue::StartQueueLimits;
use windlass_core::time::{Span, Time};
use windlass_link::DeathNoticeConfig;

/// A message from the worker to its guard.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum GuardRequest {
    /// Starts a step. The descriptor of its output is sent with the order.
    Spawn(SpawnOrder),
    /// A step has begun inside the worker itself. The worker must be dead by `at`, if that is set.
    Hold { fence: Fence, at: Option<ContactDeadline> },
    /// A step inside the worker is over.
    Release { fence: Fence },
    /// Removes a step from the start queue, if it is there.
    Withdraw { fence: Fence },
    /// Stops a step: with SIGTERM and, after the grace, SIGKILL, or with SIGKILL at once.
    Stop { fence: Fence, how: StopMode, grace: Span },
    /// Sets when the step must end without a further order.
    Deadline { fence: Fence, at: Option<ContactDeadline> },
    /// Sets when no process of any step may be alive without a further order.
    Expire { at: Option<Time> },
    /// Sets the death notice: its content and its receiver.
    SetDeathNotice(DeathNoticeConfig),
    /// The leader has judged the outcomes of these steps.
    Settled(Vec<Fence>),
    /// The worker has nothing more to run.
    Bye,
}

/// An order to start a step, as it is sent.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SpawnOrder {
    pub(super) fence: Fence,
    pub(super) argv: Vec<OsBytes>,
    pub(super) env: Vec<(OsBytes, OsBytes)>,
    pub(super) removed: Vec<OsBytes>,
    pub(super) dir: Option<OsBytes>,
    pub(super) grace: Span,
    pub(super) deadline: Option<ContactDeadline>,
    /// The limits of the start queue, if the step waits there. Otherwise it starts at once.
    pub(super) line: Option<StartQueueLimits>,
}

impl SpawnOrder {
    /// Returns the name of the program, for messages.
    pub(super) fn name(&self) -> String {
        self.argv.first().map_or_else(String::new, |name| String::from_utf8_lossy(&name.0).into())
    }
}

/// A message from a guard to its worker.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum GuardEvent {
    /// The guard is ready. The mark begins every value of the variable by which its steps are found.
    Ready { mark: String },
    /// A step has started.
    Spawned { fence: Fence, pid: i32, at: Time },
    /// A step could not be started. There is no process of it.
    NotSpawned { fence: Fence, why: SpawnFailure },
    /// A step was removed from the start queue. It has no process and never will.
    Withdrawn { fence: Fence },
    /// The main process of a step has ended. Other processes of it may be left.
    Exited { fence: Fence, exit: StepExit },
    /// No process of the step is left.
    Gone { fence: Fence, at: Time },
}

/// How the main process of a step ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StepExit {
    /// It exited with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
    /// The guard ended it at its deadline.
    Expired,
    /// It could not be started.
    NotSpawned(SpawnFailure),
    /// It was removed from the start queue before its turn.
    Withdrawn,
    /// Its end is unknown: the guard died, and the step was killed.
    Lost,
}

/// The reason why a step could not be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpawnFailure {
    /// The cause.
    pub cause: SpawnFailureCause,
    /// A text for readers: what could not be started, and why.
    pub text: String,
}

/// The cause that kept a step from starting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SpawnFailureCause {
    /// There is no such program.
    NotFound,
    /// The program exists but cannot be executed.
    NotExecutable,
    /// Its working directory cannot be entered.
    Directory,
    /// The system lacked resources, or refused for another reason. A later try may succeed.
    System,
    /// Its start did not return before its deadline.
    Hung,
}

impl SpawnFailure {
    /// Returns the exit code that a shell would have given.
    pub const fn code(&self) -> i32 {
        match self.cause {
            SpawnFailureCause::NotFound => 127,
            SpawnFailureCause::NotExecutable
            | SpawnFailureCause::Directory
            | SpawnFailureCause::System
            | SpawnFailureCause::Hung => 126,
        }
    }
}

/// A string of the operating system: bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OsBytes(Vec<u8>);

impl From<OsString> for OsBytes {
    fn from(text: OsString) -> Self {
        Self(text.into_vec())
    }
}

impl From<OsBytes> for OsString {
    fn from(text: OsBytes) -> Self {
        Self::from_vec(text.0)
    }
}

// Written by hand, because a derived implementation would serialize every byte by itself.
impl Serialize for OsBytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for OsBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(OsBytesVisitor)
    }
}

struct OsBytesVisitor;

impl Visitor<'_> for OsBytesVisitor {
    type Value = OsBytes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<OsBytes, E> {
        Ok(OsBytes(bytes.to_vec()))
    }
}
