//! Expands a pipeline and its params into a plan.
//!
//! Expressions that read only params are rendered here. Engine settings (labels, locks, timeouts, conditions) are rendered
//! for each cell of a matrix. Data for workers stays a template in the step's [`StepWork`], which all cells share; the
//! name of a cell contains its values.

mod assemble_work;
mod cell_name;
mod cell_specs;
mod condition;
mod expanded;
mod expander;
mod granted_work;
pub mod interpreter;
mod matrix_cells;
mod params;
mod plan_time_renderer;
mod selection;
mod settings;
mod valid_pipeline;
mod work;

pub use cell_name::{cell_name, cell_values};
pub use expanded::{ExpandInputs, ExpandedPipeline, ExpandedStep};
pub use expander::expand_pipeline;
pub use granted_work::GrantedWork;
pub use selection::{SelectionError, StepSelection};
pub use valid_pipeline::{InvalidPipeline, PipelineChecks, ValidPipeline};
pub use work::{StepWork, WorkAction};
