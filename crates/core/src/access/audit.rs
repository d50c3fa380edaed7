//! The audit trail: the record of requested changes and their authors.

use std::collections::VecDeque;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::principal::Principal;
use crate::id::{Fence, RunId, TokenId, WorkerId};
use crate::time::Time;
use crate::word_set;

/// Entries that the trail keeps. The journal has all of them, and the history of a run those that concern it.
pub const AUDIT_TRAIL_MAX: usize = 1_000;

/// A change that was requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AuditAction {
    /// A run was submitted.
    Submit,
    /// An interrupted run was resumed.
    Resume,
    /// A run was cancelled.
    Cancel,
    /// A worker joined, or started again.
    Join,
    /// A worker was drained.
    Drain,
    /// A worker's credential was revoked.
    RevokeWorker,
    /// A lock was released by force.
    ForceRelease,
    /// A token was created.
    CreateToken,
    /// A token was revoked.
    RevokeToken,
}

word_set!(AuditAction {
    Submit => "submit",
    Resume => "resume",
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

/// The subject of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AuditSubject {
    /// A run.
    Run(RunId),
    /// A worker.
    Worker {
        /// The worker's id.
        id: WorkerId,
        /// The worker's name at that time.
        name: Box<str>,
    },
    /// A lock.
    Lock {
        /// The lock's name.
        name: Box<str>,
        /// The lease that held it.
        fence: Fence,
    },
    /// A token.
    Token {
        /// The token's id.
        id: TokenId,
        /// The token's name.
        name: Box<str>,
    },
}

impl AuditSubject {
    /// Returns the run, if the subject is one.
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

/// An entry of the audit trail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// The time of the change.
    pub at: Time,
    /// The author of the change.
    pub by: Principal,
    /// The change.
    pub act: AuditAction,
    /// The subject of the change.
    pub about: AuditSubject,
}

/// The newest entries, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditTrail(VecDeque<AuditEntry>);

impl AuditTrail {
    /// Adds an entry. Removes the oldest one if the trail is full.
    pub(crate) fn push(&mut self, acted: AuditEntry) {
        if self.0.len() >= AUDIT_TRAIL_MAX {
            self.0.pop_front();
        }
        self.0.push_back(acted);
    }

    /// Returns the entries, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &AuditEntry> {
        self.0.iter()
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
