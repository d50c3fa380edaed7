//! What an executor is told: the part of a step that the engine does not look into.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::cell_name::cell_values;
use crate::expr::{ExprScope, Template};

/// What to execute and with what. One for all cells of a matrix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepWork {
    /// What to execute.
    pub action: WorkAction,
    /// Variables that stand in the script for `${{ }}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vars: Vec<(String, Template)>,
    /// Environment variables, in the order in which they are set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<(String, Template)>,
    /// Where to execute it, from the root of the pipeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dir: Option<Template>,
    /// Names that it must write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<String>,
    /// Secrets that it gets as variables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// Secrets that only other steps of the pipeline list: it does not inherit them, and they are masked in its output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_secrets: Vec<String>,
    /// The axes whose values its name carries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub axes: Vec<String>,
    /// Params that its templates still read, beside values that are not known yet.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, Value>,
    /// Whether a function that is called is pinned to the leader, where its result may stay in memory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    /// What it does, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
}

/// What to execute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkAction {
    /// A script for a shell.
    Script {
        /// Its text.
        text: String,
        /// The shell and its arguments; sh if not said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shell: Option<String>,
    },
    /// A program without a shell.
    Exec {
        /// The program and its arguments.
        argv: Vec<String>,
    },
    /// Nothing.
    Noop,
    /// A step that is compiled into the worker's program.
    Call {
        /// Its name.
        name: String,
        /// What tells its types apart from those of others of its name, if only these will do.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
        /// Values that it gets, by name.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        with: Vec<(String, Template)>,
    },
    /// Something that the version that made the plan could not execute.
    Unavailable {
        /// The key that said so.
        key: String,
    },
}

impl StepWork {
    /// Reads what [`to_text`](Self::to_text) wrote.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Its form in a plan: JSON.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).expect("texts and lists can be written as JSON")
    }

    /// What the templates of the step `name` may read: its params, its cell, the outcomes of other steps (the value under
    /// `steps`) and the run.
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

    /// Every template in it.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        let with = match &self.action {
            WorkAction::Call { with, .. } => with.as_slice(),
            WorkAction::Script { .. }
            | WorkAction::Exec { .. }
            | WorkAction::Noop
            | WorkAction::Unavailable { .. } => &[],
        };
        let named = self.vars.iter().chain(&self.env).chain(with).map(|(_, template)| template);
        named.chain(&self.dir)
    }
}
