//! The work of a step: the part for executors, which the engine does not read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::cell_name::cell_values;
use crate::expr::{ExprScope, Template};
use crate::files::{ArtifactRule, FetchRule, WorkspaceSource};

/// The work of a step, shared by all cells of a matrix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepWork {
    /// The action.
    pub action: WorkAction,
    /// Variables that replace `${{ }}` in the script.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vars: Vec<(String, Template)>,
    /// Environment variables in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<(String, Template)>,
    /// The working directory, relative to the root of the pipeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dir: Option<Template>,
    /// The declared outputs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<String>,
    /// The files with test results that it writes, as patterns of paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub junit_reports: Vec<Template>,
    /// The source of the files in its folder.
    #[serde(default, skip_serializing_if = "WorkspaceSource::is_here")]
    pub workspace: WorkspaceSource,
    /// The files that it hands on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<ArtifactRule>,
    /// The artifacts that it gets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fetch: Vec<FetchRule>,
    /// Secrets that it receives as variables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// Secrets listed only by other steps. The step does not receive them; they are masked in its output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_secrets: Vec<String>,
    /// The axes whose values its name contains.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub axes: Vec<String>,
    /// Params that its templates still read.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, Value>,
    /// Whether a called function is pinned to the leader, where its result can stay in memory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    /// The description in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
}

/// The action of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkAction {
    /// A script for a shell.
    Script {
        /// The script.
        text: String,
        /// The shell and its arguments (default: sh).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shell: Option<String>,
    },
    /// A program that runs without a shell.
    Exec {
        /// The program and its arguments.
        argv: Vec<String>,
    },
    /// No action.
    Noop,
    /// A compiled-in step of the worker's program.
    Call {
        /// The name.
        name: String,
        /// The required signature, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
        /// The values passed to it, by name.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        with: Vec<(String, Template)>,
    },
    /// An action that the version that made the plan cannot execute.
    Unavailable {
        /// The key of the action.
        key: String,
    },
}

impl StepWork {
    /// Parses the form of [`to_text`](Self::to_text).
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Whether the work with this form in a plan may write reports.
    pub fn writes_reports(text: &str) -> bool {
        text.contains("\"junit_reports\":")
    }

    /// Returns its form in a plan: JSON.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).expect("texts and lists can be written as JSON")
    }

    /// Returns the values that templates of the step `name` can read: params, cell, results of other steps (`steps`) and
    /// the run.
    pub fn scope(&self, name: &str, steps: Value, run: Value) -> ExprScope {
        let cell = cell_values(name, &self.axes).into_iter();
        let matrix: Map<String, Value> =
            cell.map(|(axis, value)| (axis, Value::String(value))).collect();
        let params: Map<String, Value> = self.params.clone().into_iter().collect();
        ExprScope::default()
            .with("params", Value::Object(params))
            .with("matrix", Value::Object(matrix))
            .with("steps", steps)
            .with("run", run)
    }

    /// Whether a worker prepares or stores files for it.
    pub fn carries_files(&self) -> bool {
        self.workspace.is_made_per_attempt() || self.artifacts.is_some() || !self.fetch.is_empty()
    }

    /// Returns all templates.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        let with = match &self.action {
            WorkAction::Call { with, .. } => with.as_slice(),
            WorkAction::Script { .. }
            | WorkAction::Exec { .. }
            | WorkAction::Noop
            | WorkAction::Unavailable { .. } => &[],
        };
        let named = self.vars.iter().chain(&self.env).chain(with).map(|(_, template)| template);
        let paths = self.artifacts.iter().flat_map(|artifacts| &artifacts.paths);
        named.chain(&self.dir).chain(&self.junit_reports).chain(paths)
    }
}
