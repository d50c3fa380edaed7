//! The audit trail: requested changes, their authors and their objects.

use serde::Serialize;
use serde_json::{Value, json};

use super::utc_time::UtcTime;
use crate::access::{AuditAction, AuditEntry, AuditSubject, Principal};
use crate::id::{RunId, TokenId};
use crate::json_form::{AsText, AsWord};

/// A requested change and its author.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Change"))]
pub struct AuditEntryJson<'a> {
    /// When it was made.
    pub at: UtcTime,
    /// The author of the request.
    pub by: PrincipalJson<'a>,
    /// The kind of the change.
    pub act: AsWord<AuditAction>,
    /// The object that was changed.
    pub about: AuditSubjectJson<'a>,
}

/// The object of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ChangedObject"))]
pub enum AuditSubjectJson<'a> {
    /// A run.
    Run {
        /// The id of the run.
        run: AsText<RunId>,
    },
    /// A worker.
    Worker {
        /// The number of the worker.
        worker: AsText<u64>,
        /// Its name at that time.
        name: &'a str,
    },
    /// A lock.
    Lock {
        /// The name of the lock.
        lock: &'a str,
        /// The number of the lease that held it.
        fence: u64,
    },
    /// A token.
    Token {
        /// The id of the token.
        token: AsText<TokenId>,
        /// Its name.
        name: &'a str,
    },
}

/// The author of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Principal"))]
pub enum PrincipalJson<'a> {
    /// A client on the controller's machine, without a token.
    Local,
    /// A client with the token of the controller's token file.
    TokenFile,
    /// A client with a stored token.
    Token {
        /// The id of the token.
        id: AsText<TokenId>,
        /// The name of the token at that time.
        name: &'a str,
    },
    /// A worker, by its own secret.
    Worker {
        /// The number of the worker.
        id: AsText<u64>,
    },
}

impl AuditEntry {
    /// The data of the event that records a change.
    pub fn data(by: &Principal, act: AuditAction, about: &AuditSubject) -> Value {
        json!({ "by": by.json_form(), "act": AsWord(act), "about": about.json_form() })
    }

    /// The JSON form.
    pub fn json_form(&self) -> AuditEntryJson<'_> {
        let Self { at, by, act, about } = self;
        AuditEntryJson {
            at: UtcTime(*at),
            by: by.json_form(),
            act: AsWord(*act),
            about: about.json_form(),
        }
    }
}

impl AuditSubject {
    /// The JSON form.
    pub fn json_form(&self) -> AuditSubjectJson<'_> {
        match self {
            Self::Run(run) => AuditSubjectJson::Run { run: AsText(*run) },
            Self::Worker { id, name } => AuditSubjectJson::Worker { worker: AsText(id.0), name },
            Self::Lock { name, fence } => AuditSubjectJson::Lock { lock: name, fence: fence.0 },
            Self::Token { id, name } => AuditSubjectJson::Token { token: AsText(*id), name },
        }
    }
}

impl Principal {
    /// The JSON form.
    pub fn json_form(&self) -> PrincipalJson<'_> {
        match self {
            Self::Local => PrincipalJson::Local,
            Self::TokenFile => PrincipalJson::TokenFile,
            Self::Token { id, name } => PrincipalJson::Token { id: AsText(*id), name },
            Self::Worker { id } => PrincipalJson::Worker { id: AsText(id.0) },
        }
    }
}
