//! `tracing` in steps: a span for each attempt, and a layer that writes the events in it to the log of the step.

mod field_text;
mod step_log_layer;
mod traced_callee;

#[cfg(all(feature = "http", feature = "sqlite"))]
pub(crate) use field_text::FieldText;
#[cfg(all(feature = "http", feature = "sqlite"))]
pub(crate) use step_log_layer::StepLogLayer;
pub use step_log_layer::step_log_layer;
pub(crate) use traced_callee::TracedCallee;
