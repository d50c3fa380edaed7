//! A pipeline and its params become a plan.
//!
//! What reads only params is settled here and now. What the engine must know (labels, locks, timeouts, conditions) is
//! settled for each cell of a matrix; what only a worker must know stays a template in the step's [`StepWork`], which all
//! cells share: a cell carries its values in its name.

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
mod work;

pub use cell_name::{cell_name, cell_values};
pub use expanded::{ExpandInputs, ExpandedPipeline, ExpandedStep};
pub use expander::expand_pipeline;
pub use granted_work::GrantedWork;
pub use selection::{SelectionError, StepSelection};
pub use work::{StepWork, WorkAction};
