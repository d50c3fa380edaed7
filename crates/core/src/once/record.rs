//! What became of the step that did it.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::engine::Utc;
use crate::id::{RunId, StepIx};
use crate::outcome::{Output, StepStatus};
use crate::time::Time;

/// Who did it, and when it was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// In which run.
    pub run: RunId,
    /// Which step of it.
    pub step: StepIx,
    /// That step's name: its run may be gone when somebody asks.
    pub name: Box<str>,
    /// When it ended.
    pub at: Time,
}

impl Origin {
    /// `{run, step, name, at}`.
    pub fn to_json(&self) -> Value {
        json!({
            "run": self.run.to_string(),
            "step": self.step.0,
            "name": self.name,
            "at": Utc(self.at).to_string(),
        })
    }
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Who did it.
    pub origin: Origin,
    /// How that step ended.
    pub status: StepStatus,
    /// What it handed on.
    pub output: Output,
}

impl Record {
    /// Whether it may stand for doing it again.
    pub fn is_success(&self) -> bool {
        self.status == StepStatus::Succeeded
    }
}

/// Where a key stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyStatus {
    /// A step is at it.
    Pending,
    /// It was done.
    Completed,
    /// The last who tried did not succeed: the next one tries.
    Failed,
}

impl KeyStatus {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }
}

impl fmt::Display for KeyStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
