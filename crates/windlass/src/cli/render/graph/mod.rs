//! Drawings of a pipeline: steps and needs, a matrix as one node.

mod dot;
mod lanes;
mod layout;
mod mermaid;
mod model;
mod svg;
mod svg_style;
mod text;

use model::GraphNode;
pub(crate) use model::{GraphFormat, PipelineGraph};
