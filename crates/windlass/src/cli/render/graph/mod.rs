//! Drawings of a pipeline: steps and needs, a matrix as one node.

mod dot;
mod lanes;
mod layout;
mod mermaid;
mod model;
mod svg;
mod svg_style;
mod text;

use model::Node;
pub(crate) use model::{Format, Graph};
