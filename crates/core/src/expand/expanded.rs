//! What comes out: the plan, and what the plan does not say.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::Value;

use crate::id::StepIx;
use crate::plan::Plan;
use crate::time::Span;

/// What a plan is made with, beside the file.
#[derive(Clone, Copy, Debug)]
pub struct ExpandInputs<'a> {
    /// The name of a pipeline that does not say its own.
    pub name: &'a str,
    /// Params as they were given.
    pub params: &'a BTreeMap<String, String>,
}

/// A plan, and what is worth showing beside it.
#[derive(Clone, Debug)]
pub struct ExpandedPipeline {
    /// The plan.
    pub plan: Plan,
    /// Every param with its value.
    pub params: BTreeMap<String, Value>,
    /// The longest that a run may take.
    pub timeout: Option<Span>,
    /// The steps of the file, in its order.
    pub steps: Vec<ExpandedStep>,
}

/// A step of the file, in the plan.
#[derive(Clone, Debug)]
pub struct ExpandedStep {
    /// Its name.
    pub name: String,
    /// What it does, in one line.
    pub about: Option<String>,
    /// Words for selecting it.
    pub tags: Vec<String>,
    /// Names of the steps that it needs.
    pub needs: Vec<String>,
    /// The node that stands for it: itself, or the join of its cells.
    pub node: StepIx,
    /// Its steps in the plan: itself, or its cells.
    pub cells: Range<u32>,
    /// The key of it that this version cannot execute.
    pub unavailable: Option<&'static str>,
}
