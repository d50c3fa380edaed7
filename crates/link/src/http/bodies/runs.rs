//! Bodies that submit, repeat and cancel runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_core::engine::CancelLevel;
use windlass_core::expand::StepSelection;
use windlass_core::id::RunId;
use windlass_core::json_form::{AsText, AsWord};

/// A pipeline to run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SubmitRun"))]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the body")]
pub struct SubmitRunBody {
    /// The text of the pipeline file.
    pub text: String,
    /// The name of the file in messages (default: `windlass.yml`).
    pub file: Option<String>,
    /// The name of the pipeline if its text has none (default: `pipeline`).
    pub name: Option<String>,
    /// The params of the run.
    #[serde(default)]
    pub params: BTreeMap<String, ParamValue>,
    /// The steps to run (default: all).
    #[serde(default)]
    pub selection: StepSelectionBody,
    /// If true, steps that do not need a failed step still run after a failure.
    #[serde(default)]
    pub keep_going: bool,
    /// If true, idempotent steps run although their key is completed.
    #[serde(default)]
    pub again: bool,
    /// The timeout of the run (default: that of the pipeline).
    pub timeout_ms: Option<u64>,
    /// The files that the steps find: the object of a manifest that the controller has. Each attempt gets a copy in a folder
    /// of its own (default: the folder in which each worker was started, unless the pipeline has a `workspace`).
    pub snapshot: Option<String>,
    /// The fingerprint of the plan that the client made of the file. A controller that makes another plan refuses.
    pub fingerprint: Option<String>,
}

/// The value of a param: a text, a number or a boolean.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ParamValue(pub Value);

impl ParamValue {
    /// The text of the param; `None` if the value is of another type.
    pub fn text(&self) -> Option<String> {
        match &self.0 {
            Value::String(text) => Some(text.clone()),
            Value::Number(_) | Value::Bool(_) => Some(self.0.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }
}

/// A part of a pipeline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "StepSelection"))]
pub struct StepSelectionBody {
    /// These steps and all that they need.
    pub steps: Vec<String>,
    /// These steps without those that they need.
    pub only: Vec<String>,
    /// These steps and all that need them.
    pub from: Vec<String>,
    /// The steps with one of these tags, and all that they need.
    pub tags: Vec<String>,
}

impl From<StepSelectionBody> for StepSelection {
    fn from(body: StepSelectionBody) -> Self {
        let StepSelectionBody { steps, only, from, tags } = body;
        Self { steps, only, from, tags }
    }
}

impl From<StepSelection> for StepSelectionBody {
    fn from(selection: StepSelection) -> Self {
        let StepSelection { steps, only, from, tags } = selection;
        Self { steps, only, from, tags }
    }
}

/// The part of an earlier run to repeat: everything unless `failed` or `from` is given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Rerun"))]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the body")]
pub struct RerunBody {
    /// If true, only the steps that did not succeed run.
    pub failed: bool,
    /// Only these steps and all that need them run.
    pub from: Vec<String>,
    /// If true, idempotent steps run although their key is completed.
    pub again: bool,
}

/// How to end a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "CancelRun"))]
pub struct CancelRunBody {
    /// `stop` ends running steps in good order, and steps with `always()` still run; `kill` ends everything at once.
    pub level: AsWord<CancelLevel>,
}

impl Default for CancelRunBody {
    fn default() -> Self {
        Self { level: AsWord(CancelLevel::Stop) }
    }
}

/// A run that was created, or that an earlier request with the same idempotency key created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SubmittedRun"))]
pub struct SubmittedRunBody {
    /// The id of the run.
    pub id: AsText<RunId>,
    /// Warnings about the run, one sentence each.
    pub warnings: Vec<String>,
    /// Whether an earlier request with the same idempotency key created the run.
    pub known: bool,
}

#[cfg(feature = "schema")]
mod schema {
    use std::borrow::Cow;

    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

    use super::ParamValue;

    impl JsonSchema for ParamValue {
        fn inline_schema() -> bool {
            true
        }

        fn schema_name() -> Cow<'static, str> {
            "ParamValue".into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!({ "type": ["string", "number", "boolean"] })
        }
    }
}
