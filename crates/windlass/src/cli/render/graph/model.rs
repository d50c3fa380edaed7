//! The graph, independent of the output format.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::expand::{ExpandedPipeline, ExpandedStep};
use windlass_core::id::{SpecIx, StepIx};
use windlass_core::plan::StatusCondition;
use windlass_core::spec::PipelineDecl;

use super::{dot, mermaid, svg, text};
use crate::cli::output::TerminalCaps;

/// The output format of a graph.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum GraphFormat {
    /// Draw a tree for the terminal
    Text,
    /// Draw for Graphviz
    Dot,
    /// Draw for Markdown that renders Mermaid
    Mermaid,
    /// Draw an SVG image, light or dark to match the reader's screen
    Svg,
}

/// Steps and their needs.
#[derive(Debug)]
pub(crate) struct PipelineGraph {
    /// The name of the pipeline.
    pub(super) name: String,
    /// The steps, in the order of the file.
    pub(super) nodes: Vec<GraphNode>,
}

/// One step.
#[derive(Debug)]
pub(super) struct GraphNode {
    pub(super) name: String,
    pub(super) about: Option<String>,
    /// The number of its cells, if it has a matrix.
    pub(super) cells: Option<usize>,
    /// The locks that it, or a cell of it, takes.
    pub(super) locks: Vec<String>,
    /// Whether a condition determines if it runs.
    pub(super) conditional: bool,
    pub(super) needs: Vec<GraphEdge>,
}

/// An edge to a needed step.
#[derive(Clone, Copy, Debug)]
pub(super) struct GraphEdge {
    pub(super) node: usize,
    pub(super) optional: bool,
}

impl PipelineGraph {
    /// The graph of the file's steps.
    pub(crate) fn new(pipeline: &PipelineDecl, expanded: &ExpandedPipeline) -> Self {
        let steps = expanded.steps.iter().zip(&pipeline.steps);
        let index: BTreeMap<&str, usize> =
            expanded.steps.iter().enumerate().map(|(at, step)| (&*step.name, at)).collect();
        let node = |(step, written): (&ExpandedStep, &windlass_core::spec::StepDecl)| {
            let needs = written.needs.iter().filter_map(|need| {
                let node = *index.get(&*need.step.value)?;
                Some(GraphEdge { node, optional: need.optional })
            });
            GraphNode { needs: needs.collect(), ..GraphNode::new(expanded, step) }
        };
        Self { name: expanded.plan.pipeline().to_owned(), nodes: steps.map(node).collect() }
    }

    /// The drawing.
    pub(crate) fn draw(&self, format: GraphFormat, caps: &TerminalCaps) -> String {
        match format {
            GraphFormat::Text => text::draw(self, caps),
            GraphFormat::Dot => dot::draw(self),
            GraphFormat::Mermaid => mermaid::draw(self),
            GraphFormat::Svg => svg::draw(self),
        }
    }

    /// The needs of each node, by number.
    pub(super) fn needs(&self) -> Vec<Vec<usize>> {
        let needs = |node: &GraphNode| node.needs.iter().map(|need| need.node).collect();
        self.nodes.iter().map(needs).collect()
    }
}

impl GraphNode {
    fn new(expanded: &ExpandedPipeline, step: &ExpandedStep) -> Self {
        let plan = &expanded.plan;
        let numbers: BTreeSet<SpecIx> =
            step.cells.clone().filter_map(|cell| plan.spec_index(StepIx(cell))).collect();
        let specs: Vec<_> =
            numbers.into_iter().filter_map(|at| plan.specs().get(at.0 as usize)).collect();
        let locks: BTreeSet<&str> =
            specs.iter().flat_map(|spec| &spec.locks).map(|lock| &*lock.name).collect();
        Self {
            name: step.name.clone(),
            about: step.about.clone(),
            cells: plan.is_join(step.node).then_some(step.cells.len()),
            locks: locks.into_iter().map(str::to_owned).collect(),
            conditional: specs.iter().any(|spec| {
                spec.is_decided_after_needs() || spec.condition == StatusCondition::Failure
            }),
            needs: Vec::new(),
        }
    }

    /// `test ×3`
    pub(super) fn label(&self) -> String {
        match self.cells {
            Some(cells) => format!("{} ×{cells}", self.name),
            None => self.name.clone(),
        }
    }
}
