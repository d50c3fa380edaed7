//! What was done on somebody's word.

use std::collections::VecDeque;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::principal::Principal;
use crate::id::{Fence, RunId, TokenId, WorkerId};
use crate::time::Time;
use crate::word_set;

/// Acts that are kept at hand. All of them are in the journal, and those about a run are in its history.
pub const AUDIT_TRAIL_MAX: usize = 1_000;

/// Something that somebody had done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AuditAction {
    /// A run was submitted.
    Submit,
    /// A run was told to end.
    Cancel,
    /// A worker joined, or began a new life.
    Join,
    /// A worker gets no more leases.
    Drain,
    /// A worker's credential was ended.
    RevokeWorker,
    /// A lock was taken away from its holder.
    ForceRelease,
    /// A token was made.
    CreateToken,
    /// A token was taken back.
    RevokeToken,
}

word_set!(AuditAction {
    Submit => "submit",
    Cancel => "cancel",
    Join => "join",
    Drain => "drain",
    RevokeWorker => "revoke_worker",
    ForceRelease => "force_release",
    CreateToken => "create_token",
    RevokeToken => "revoke_token",
});

impl fmt::Display for AuditAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What it was done to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AuditSubject {
    /// A run.
    Run(RunId),
    /// A worker.
    Worker {
        /// Which.
        id: WorkerId,
        /// What it was called then.
        name: Box<str>,
    },
    /// A lock.
    Lock {
        /// Which.
        name: Box<str>,
        /// The lease that held it.
        fence: Fence,
    },
    /// A token.
    Token {
        /// Which.
        id: TokenId,
        /// What it was called.
        name: Box<str>,
    },
}

impl AuditSubject {
    /// The run, if it is about one.
    pub const fn run(&self) -> Option<RunId> {
        match self {
            Self::Run(run) => Some(*run),
            Self::Worker { .. } | Self::Lock { .. } | Self::Token { .. } => None,
        }
    }
}

impl fmt::Display for AuditSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(run) => write!(f, "run {run}"),
            Self::Worker { id, name } => write!(f, "worker {name} ({id})"),
            Self::Lock { name, fence } => write!(f, "lock {name} of lease {}", fence.0),
            Self::Token { id, name } => write!(f, "token {name} ({id})"),
        }
    }
}

/// One line of the trail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// When.
    pub at: Time,
    /// On whose word.
    pub by: Principal,
    /// What was done.
    pub act: AuditAction,
    /// To what.
    pub about: AuditSubject,
}

/// The newest acts, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditTrail(VecDeque<AuditEntry>);

impl AuditTrail {
    /// Adds one; the oldest goes if there are as many as are kept.
    pub(crate) fn push(&mut self, acted: AuditEntry) {
        if self.0.len() >= AUDIT_TRAIL_MAX {
            self.0.pop_front();
        }
        self.0.push_back(acted);
    }

    /// All of them, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &AuditEntry> {
        self.0.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nobody has done anything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
