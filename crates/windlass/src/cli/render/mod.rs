//! Texts for people and for programs, made from data without touching the world.

mod count;
mod definition;
mod graph;
mod layers;
mod matrix;
mod outlook;
mod plan_json;
mod plan_text;
mod problems;
mod routing;
mod tree;

pub(crate) use count::{count, listed};
pub(crate) use definition::definition;
pub(crate) use graph::{Format, Graph};
pub(crate) use outlook::Outlook;
pub(crate) use plan_json::plan_json;
pub(crate) use plan_text::plan_text;
pub(crate) use problems::Report;
pub(crate) use routing::{refused_here, routing_notes};
