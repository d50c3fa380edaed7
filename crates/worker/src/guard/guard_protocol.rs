//! What worker and guard tell each other.

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

/// What a worker tells its guard.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum GuardRequest {
    /// Start a step. Its output's descriptor comes with it.
    Spawn(SpawnOrder),
    /// A step has begun inside the worker itself, which has to be dead by then, if it has to.
    Hold { fence: Fence, at: Option<ContactDeadline> },
    /// A step inside the worker is over.
    Release { fence: Fence },
    /// Do not start it, if it stands in line.
    Withdraw { fence: Fence },
    /// Stop it, politely and then by force after the grace, or by force at once.
    Stop { fence: Fence, how: StopMode, grace: Span },
    /// When it is to end if nothing else is said.
    Deadline { fence: Fence, at: Option<ContactDeadline> },
    /// When nothing of any step may be alive, if nothing else is said.
    Expire { at: Option<Time> },
    /// What to tell, and whom, if the worker dies.
    Will(DeathNoticeConfig),
    /// The leader has judged the outcomes of these.
    Settled(Vec<Fence>),
    /// The worker has nothing more to run.
    Bye,
}

/// A step to start, as it travels.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SpawnOrder {
    pub(super) fence: Fence,
    pub(super) argv: Vec<OsBytes>,
    pub(super) env: Vec<(OsBytes, OsBytes)>,
    pub(super) removed: Vec<OsBytes>,
    pub(super) dir: Option<OsBytes>,
    pub(super) grace: Span,
    pub(super) deadline: Option<ContactDeadline>,
    /// It stands in line; otherwise it starts at once.
    pub(super) line: Option<StartQueueLimits>,
}

impl SpawnOrder {
    /// What it starts, for messages.
    pub(super) fn name(&self) -> String {
        self.argv.first().map_or_else(String::new, |name| String::from_utf8_lossy(&name.0).into())
    }
}

/// What a guard tells its worker.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum GuardEvent {
    /// It is up. The mark begins every value of the variable by which its steps are known.
    Ready { mark: String },
    /// A step has started.
    Spawned { fence: Fence, pid: i32, at: Time },
    /// A step could not be started; there is nothing of it.
    NotSpawned { fence: Fence, why: SpawnFailure },
    /// A step was taken out of the line; there is nothing of it, and there will not be.
    Withdrawn { fence: Fence },
    /// A step's main process has ended; others of it may be left.
    Exited { fence: Fence, exit: StepExit },
    /// Nothing of the step is left.
    Gone { fence: Fence, at: Time },
}

/// How a step's main process ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StepExit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// The guard ended it at its deadline.
    Expired,
    /// It could not be started.
    NotSpawned(SpawnFailure),
    /// It stood in line and was told to stop before its turn.
    Withdrawn,
    /// Nobody knows: the guard died, and the step was killed.
    Lost,
}

/// Why a step could not be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpawnFailure {
    /// What it was for.
    pub cause: SpawnFailureCause,
    /// For people: what could not be started, and why.
    pub text: String,
}

/// What kept a step from starting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SpawnFailureCause {
    /// There is no such program.
    NotFound,
    /// There is, but it cannot be executed.
    NotExecutable,
    /// The directory that it should start in cannot be entered.
    Directory,
    /// The system had no room for it, or refused for another reason. It may work later.
    System,
    /// Its start did not return before it was to end.
    Hung,
}

impl SpawnFailure {
    /// The exit code that a shell would have given.
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

// By hand: a derived one would take every byte by itself.
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
