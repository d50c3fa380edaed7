//! What was done on somebody's word.

use std::collections::VecDeque;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::principal::Principal;
use crate::id::{Fence, RunId, TokenId, WorkerId};
use crate::time::Time;

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

impl fmt::Display for AuditAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Submit => "submit",
            Self::Cancel => "cancel",
            Self::Join => "join",
            Self::Drain => "drain",
            Self::RevokeWorker => "revoke_worker",
            Self::ForceRelease => "force_release",
            Self::CreateToken => "create_token",
            Self::RevokeToken => "revoke_token",
        })
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

    /// As everybody shows it.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Run(run) => json!({ "run": run.to_string() }),
            Self::Worker { id, name } => json!({ "worker": id.0.to_string(), "name": name }),
            Self::Lock { name, fence } => json!({ "lock": name, "fence": fence.0 }),
            Self::Token { id, name } => json!({ "token": id.to_string(), "name": name }),
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

impl AuditEntry {
    /// What an event and the trail say of it, beside when.
    pub fn data(by: &Principal, act: AuditAction, about: &AuditSubject) -> Value {
        let mut data = Map::new();
        data.insert("by".to_owned(), by.to_json());
        data.insert("act".to_owned(), act.to_string().into());
        data.insert("about".to_owned(), about.to_json());
        data.into()
    }
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
