//! Pure rendering of data as text, for readers and for programs.

mod expanded_matrix;
mod expanded_pipeline;
mod graph;
mod matrix_routing;
mod number_text;
mod ordered_document;
mod plan_json;
mod plan_outlook;
mod plan_text;
mod problems;
mod resolved_params;
mod step_facts;
mod topological;

pub(crate) use expanded_pipeline::definition;
pub(crate) use graph::{GraphFormat, PipelineGraph};
pub(crate) use matrix_routing::{refused_here, routing_notes};
pub(crate) use number_text::{count, listed};
pub(crate) use plan_json::plan_json;
pub(crate) use plan_outlook::PlanOutlook;
pub(crate) use plan_text::plan_text;
pub(crate) use problems::ProblemReport;
