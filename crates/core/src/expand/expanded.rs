//! The result of an expansion: the plan and additional data.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::Value;

use crate::files::WorkspaceSource;
use crate::id::StepIx;
use crate::plan::Plan;
use crate::time::Span;

/// The inputs of an expansion in addition to the file.
#[derive(Clone, Copy, Debug)]
pub struct ExpandInputs<'a> {
    /// The default pipeline name.
    pub name: &'a str,
    /// The given params.
    pub params: &'a BTreeMap<String, String>,
    /// The source of the files, if the command that begins the run has determined it.
    pub workspace: Option<&'a WorkspaceSource>,
}

/// A plan, and additional data for display.
#[derive(Clone, Debug)]
pub struct ExpandedPipeline {
    /// The plan.
    pub plan: Plan,
    /// All params with their values.
    pub params: BTreeMap<String, Value>,
    /// Maximum duration of a run.
    pub timeout: Option<Span>,
    /// The steps in file order.
    pub steps: Vec<ExpandedStep>,
}

/// A step of the file and its nodes in the plan.
#[derive(Clone, Debug)]
pub struct ExpandedStep {
    /// The name.
    pub name: String,
    /// The description in one line.
    pub about: Option<String>,
    /// Tags for selecting it.
    pub tags: Vec<String>,
    /// Names of the steps that it needs.
    pub needs: Vec<String>,
    /// The node of the step: itself, or the join of its cells.
    pub node: StepIx,
    /// The steps in the plan: itself, or its cells.
    pub cells: Range<u32>,
    /// The key that this version cannot execute.
    pub unavailable: Option<&'static str>,
}
